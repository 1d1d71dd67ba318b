//! The matrix library of a device (cuBLASLt, hipBLASLt or rocBLAS) with its state for each stream.

use super::gemm_spec::{GemmOperands, GemmSpec};
use super::lt::{LtHandle, LtLibrary, LtProduct};
use super::rocblas::RocBlas;
use super::{DriverError, Properties, Result, Stream, Vendor};

/// The loaded matrix library.
pub(super) enum MatrixLibrary {
    Lt(Box<LtLibrary>),
    RocBlas,
}

/// A library's state for one stream.
pub(super) enum StreamState {
    Lt(LtHandle),
    RocBlas(RocBlas),
}

/// A product with its algorithm.
pub(super) enum LibraryProduct {
    Lt(LtProduct),
    RocBlas(GemmSpec),
}

impl MatrixLibrary {
    /// Loads the library. hipBLASLt serves only some AMD GPUs, rocBLAS all of them. A hipBLASLt that was built for
    /// other GPUs loads without an error and offers no algorithm. On CUDA there is no fallback, because cuBLAS itself
    /// needs cuBLASLt.
    pub fn load(properties: &Properties) -> Result<Self> {
        let error = match LtLibrary::load(properties) {
            Ok(library) if properties.vendor == Vendor::Nvidia || library.has_kernels()? => {
                return Ok(MatrixLibrary::Lt(Box::new(library)));
            }
            Err(error) if properties.vendor == Vendor::Nvidia => return Err(error),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        match RocBlas::load() {
            Ok(_) => Ok(MatrixLibrary::RocBlas),
            Err(missing) => Err(error.unwrap_or(missing)),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            MatrixLibrary::Lt(library) => library.name(),
            MatrixLibrary::RocBlas => "rocBLAS",
        }
    }

    /// Creates the state that a stream needs for products, because a capture would not allow it. cuBLASLt's own state
    /// serves all streams.
    pub fn stream_state(&self) -> Result<Option<StreamState>> {
        Ok(match self {
            MatrixLibrary::Lt(library) if library.vendor == Vendor::Nvidia => None,
            MatrixLibrary::Lt(library) => Some(StreamState::Lt(library.handle()?)),
            MatrixLibrary::RocBlas => Some(StreamState::RocBlas(RocBlas::load()?)),
        })
    }

    /// Returns up to `limit` algorithms for `spec` within `workspace` bytes, the library's first choice first.
    pub fn candidates(
        &self,
        spec: &GemmSpec,
        workspace: usize,
        limit: usize,
    ) -> Result<Vec<LibraryProduct>> {
        match self {
            MatrixLibrary::Lt(library) => {
                let products = library.candidates(spec, workspace, limit)?;
                Ok(products.into_iter().map(LibraryProduct::Lt).collect())
            }
            MatrixLibrary::RocBlas if RocBlas::supports(spec) => {
                Ok(vec![LibraryProduct::RocBlas(*spec)])
            }
            MatrixLibrary::RocBlas => Ok(vec![]),
        }
    }

    /// Computes the product in `stream`.
    ///
    /// # Safety
    /// As for [`GemmPlan::run`](super::GemmPlan::run).
    pub unsafe fn multiply(
        &self,
        product: &LibraryProduct,
        operands: &GemmOperands,
        stream: &Stream,
    ) -> Result<()> {
        // SAFETY: the caller guarantees it.
        unsafe {
            match (self, product, &stream.matrices) {
                (MatrixLibrary::Lt(library), LibraryProduct::Lt(product), state) => {
                    let own = match state {
                        Some(StreamState::Lt(own)) => Some(own),
                        _ => None,
                    };
                    library.multiply(own, product, operands, stream)
                }
                (
                    MatrixLibrary::RocBlas,
                    LibraryProduct::RocBlas(spec),
                    Some(StreamState::RocBlas(blas)),
                ) => blas.multiply(spec, operands, stream),
                _ => Err(DriverError::Invalid(
                    "a gemm in a stream that was opened without a workspace".into(),
                )),
            }
        }
    }
}
