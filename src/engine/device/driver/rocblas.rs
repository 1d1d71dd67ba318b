//! rocBLAS, for AMD GPUs that hipBLASLt does not serve. It chooses the algorithm itself and has no TF32.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::gemm_spec::{GemmOperands, GemmPrecision, GemmSpec, Operand, OutputType};
use super::interface::Opaque;
use super::loader::{SharedLibrary, Statuses, interface};
use super::{DriverError, Result, Stream, Vendor};

interface! {
    /// Signatures from `rocblas-auxiliary.h` and `rocblas-functions.h` of ROCm 6 and 7. Addresses are passed as numbers.
    RocBlasInterface {
        create(*mut Opaque) = "rocblas_create_handle";
        destroy(Opaque) = "rocblas_destroy_handle";
        set_stream(Opaque, Opaque) = "rocblas_set_stream";
        set_workspace(Opaque, u64, usize) = "rocblas_set_workspace";
        multiply(
            Opaque, c_int, c_int, i32, i32, i32,
            *const c_void, u64, c_int, i32, i64, u64, c_int, i32, i64,
            *const c_void, u64, c_int, i32, i64, u64, c_int, i32, i64,
            i32, c_int, c_int, i32, u32,
        ) = "rocblas_gemm_strided_batched_ex";
    }
}

/// The library's function that returns the text of a status.
pub(super) const STATUS_TEXT: &str = "rocblas_status_to_string";
pub(super) const OPERATION_PLAIN: c_int = 111;
pub(super) const OPERATION_TRANSPOSED: c_int = 112;
pub(super) const TYPE_F32: c_int = 151;
pub(super) const TYPE_BF16: c_int = 168;
pub(super) const STANDARD_ALGORITHM: c_int = 0;

/// The library with its state for one stream.
pub(super) struct RocBlas {
    interface: RocBlasInterface,
    handle: Opaque,
}

impl RocBlas {
    pub fn load() -> Result<Self> {
        let names = ["librocblas.so", "librocblas.so.5", "librocblas.so.4"];
        let library = SharedLibrary::load(Vendor::Amd, &names, &[])?;
        let statuses = Statuses::from_library(&library, &[STATUS_TEXT])?;
        let mut blas = RocBlas {
            interface: RocBlasInterface::load(&library, &statuses)?,
            handle: ptr::null_mut(),
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer to the handle is valid for writing.
        unsafe { blas.interface.create(&mut handle)? };
        blas.handle = handle;
        Ok(blas)
    }

    /// Returns whether the library computes `spec`.
    pub fn supports(spec: &GemmSpec) -> bool {
        spec.precision != GemmPrecision::Tf32
    }

    /// Computes the product in `stream`.
    ///
    /// # Safety
    /// As for [`GemmPlan::run`](super::GemmPlan::run).
    pub unsafe fn multiply(
        &self,
        spec: &GemmSpec,
        operands: &GemmOperands,
        stream: &Stream,
    ) -> Result<()> {
        let element = |stored: OutputType| match stored {
            OutputType::F32 => TYPE_F32,
            OutputType::Bf16 => TYPE_BF16,
        };
        let (input, output) = (element(spec.precision.stored()), element(spec.output));
        let operation = |operand: Operand| match operand.transposed {
            true => OPERATION_TRANSPOSED,
            false => OPERATION_PLAIN,
        };
        let GemmSpec { a, b, d, .. } = spec;
        let [m, n, k, batch] = sides_as_i32([spec.m, spec.n, spec.k, spec.batch])?;
        let [row_a, row_b, row_d] = sides_as_i32([a.row_stride, b.row_stride, d.row_stride])?;
        let [batch_a, batch_b, batch_d] = [a, b, d].map(|operand| operand.batch_stride as i64);
        let alpha: *const c_void = ptr::from_ref(&operands.alpha).cast();
        let beta: *const c_void = ptr::from_ref(&operands.beta).cast();
        let (workspace, bytes) = stream.workspace();
        let handle = self.handle;
        // SAFETY: `self` owns the handle. The caller guarantees the operands, which are exchanged as `gemm` explains.
        unsafe {
            self.interface.set_stream(handle, stream.handle())?;
            self.interface.set_workspace(handle, workspace, bytes)?;
            self.interface.multiply(
                handle,
                operation(*b),
                operation(*a),
                n,
                m,
                k,
                alpha,
                operands.b.0,
                input,
                row_b,
                batch_b,
                operands.a.0,
                input,
                row_a,
                batch_a,
                beta,
                operands.c.0,
                output,
                row_d,
                batch_d,
                operands.d.0,
                output,
                row_d,
                batch_d,
                batch,
                TYPE_F32,
                STANDARD_ALGORITHM,
                0,
                0,
            )
        }
    }
}

impl Drop for RocBlas {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: created in `load` and destroyed only here.
            unsafe { (self.interface.destroy.call)(self.handle) };
        }
    }
}

fn sides_as_i32<const N: usize>(sides: [usize; N]) -> Result<[i32; N]> {
    let mut narrowed = [0; N];
    for (to, side) in narrowed.iter_mut().zip(sides) {
        *to = i32::try_from(side).map_err(|_| {
            DriverError::Invalid(format!("a gemm side of {side} is too long for rocBLAS"))
        })?;
    }
    Ok(narrowed)
}
