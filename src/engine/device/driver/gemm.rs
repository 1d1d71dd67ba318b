//! Matrix multiplication by the vendor's library, on our stream.
//!
//! Matrices are row-major, but cuBLASLt and hipBLASLt expect column-major ones. A row-major matrix is the transpose of
//! the column-major one at the same address. The library is therefore asked for `dT = op(b)T op(a)T`, with exchanged
//! operands.

use std::rc::Rc;

use super::gemm_spec::{GemmOperands, GemmSpec};
use super::handle::{DriverState, WorkKind};
use super::matrices::LibraryProduct;
use super::{Driver, GraphContents, Result, Stream};

/// How to choose among the algorithms that the library offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlgorithmSelection {
    /// The library's first choice. It is the same on every start.
    Heuristic,
    /// The fastest of up to this many, timed on this device with scratch operands. The choice, and with it the last
    /// bits of a result, may differ between starts.
    Measured { candidates: usize },
}

/// A matrix multiplication with its algorithm.
pub struct GemmPlan {
    pub spec: GemmSpec,
    product: LibraryProduct,
    /// The work that one run puts into the stream: a kernel, and with a split sum (split-k) a second one or a fill.
    pub contents: GraphContents,
    /// Time of one run when the algorithm was chosen, with operands in cache; `None` if nothing was measured.
    pub measured_microseconds: Option<f32>,
    shared: Rc<DriverState>,
}

impl Driver {
    /// Returns the vendor's matrix library with its version, for example `cuBLASLt 13.1.0`.
    ///
    /// # Errors
    /// The reason why there is no library.
    pub fn gemm_library(&self) -> Result<String> {
        Ok(self.shared.matrices()?.name().to_owned())
    }

    /// Returns whether the library offers an algorithm for `spec` that needs no workspace.
    ///
    /// # Errors
    /// The reason why there is no library, and any other error of the library.
    pub fn multiplies(&self, spec: &GemmSpec) -> Result<bool> {
        spec.check()?;
        Ok(!self.shared.matrices()?.candidates(spec, 0, 1)?.is_empty())
    }

    /// Chooses an algorithm for `spec` that fits the workspace of `stream`, which must not be capturing. It allocates
    /// and waits, so call it during set-up.
    ///
    /// # Errors
    /// [`DriverError::NoAlgorithm`](super::DriverError::NoAlgorithm) if the library cannot do it on this device (TF32 on most AMD GPUs).
    pub fn plan_gemm(
        &self,
        stream: &Stream,
        spec: GemmSpec,
        selection: AlgorithmSelection,
    ) -> Result<GemmPlan> {
        spec.check()?;
        stream.refuse_while_capturing("choosing a gemm's algorithm")?;
        let limit = match selection {
            AlgorithmSelection::Heuristic => 1,
            AlgorithmSelection::Measured { candidates } => candidates.max(1),
        };
        let matrices = self.shared.matrices()?;
        let (_, workspace) = stream.workspace();
        let candidates = matrices.candidates(&spec, workspace, limit)?;
        super::tuning::choose(self, stream, spec, candidates)
    }
}

impl GemmPlan {
    /// Wraps `product` with empty fields for the results of capturing and timing.
    pub(super) fn untried(driver: &Driver, spec: GemmSpec, product: LibraryProduct) -> Self {
        GemmPlan {
            spec,
            product,
            contents: GraphContents::default(),
            measured_microseconds: None,
            shared: Rc::clone(&driver.shared),
        }
    }

    /// Puts the multiplication into `stream`: `d = alpha * op(a) op(b) + beta * c`, where `c` may be `d`. To add to a
    /// residual or a gradient, set `beta` to 1. With `beta` 0, `c` is not read.
    ///
    /// # Safety
    /// The operands have the sizes of [`GemmSpec::bytes`], and are aligned to 16 bytes. Operands and this plan stay
    /// alive until the stream has passed (or, captured, while the graph is used).
    ///
    /// # Errors
    /// [`DriverError::Invalid`](super::DriverError::Invalid) if `stream` has less workspace than the algorithm was chosen for.
    pub unsafe fn run(&self, stream: &Stream, operands: &GemmOperands) -> Result<()> {
        let matrices = self.shared.matrices()?;
        // SAFETY: the caller guarantees the operands, and only this stream uses the workspace.
        let run = unsafe { matrices.multiply(&self.product, operands, stream) };
        stream.count_work(WorkKind::Gemm, run)
    }
}
