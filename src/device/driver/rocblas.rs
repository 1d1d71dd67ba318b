//! rocBLAS, for AMD GPUs that hipBLASLt does not serve. It chooses the algorithm itself and has no TF32.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use super::api::{GemmOperands, Workspace};
use super::gemm::{GemmSpec, Operand, OutputType, Precision};
use super::interface::Opaque;
use super::loader::{self, Function, SharedLibrary, check};
use super::{DriverError, Vendor};

/// `rocblas_gemm_strided_batched_ex`, from `rocblas-functions.h` of ROCm 6 and 7. Addresses are passed as numbers.
type Multiply = unsafe extern "C" fn(
    Opaque,
    c_int,
    c_int,
    i32,
    i32,
    i32,
    *const c_void,
    u64,
    c_int,
    i32,
    i64,
    u64,
    c_int,
    i32,
    i64,
    *const c_void,
    u64,
    c_int,
    i32,
    i64,
    u64,
    c_int,
    i32,
    i64,
    i32,
    c_int,
    c_int,
    i32,
    u32,
) -> c_int;

const OPERATION_PLAIN: c_int = 111;
const OPERATION_TRANSPOSED: c_int = 112;
const TYPE_F32: c_int = 151;
const TYPE_BF16: c_int = 168;
const STANDARD_ALGORITHM: c_int = 0;

/// The library with its state for one stream.
pub(super) struct RocBlas {
    handle: Opaque,
    destroy: Function<unsafe extern "C" fn(Opaque) -> c_int>,
    set_stream: Function<unsafe extern "C" fn(Opaque, Opaque) -> c_int>,
    set_workspace: Function<unsafe extern "C" fn(Opaque, u64, usize) -> c_int>,
    multiply: Function<Multiply>,
    status_text: Function<unsafe extern "C" fn(c_int) -> *const c_char>,
}

impl RocBlas {
    pub fn load() -> Result<Self, DriverError> {
        let library = SharedLibrary::load(
            Vendor::Amd,
            "librocblas.so",
            &["librocblas.so", "librocblas.so.5", "librocblas.so.4"],
        )?;
        // SAFETY: signatures from the headers.
        unsafe {
            let create: Function<unsafe extern "C" fn(*mut Opaque) -> c_int> =
                library.function("rocblas_create_handle")?;
            let mut blas = RocBlas {
                handle: ptr::null_mut(),
                destroy: library.function("rocblas_destroy_handle")?,
                set_stream: library.function("rocblas_set_stream")?,
                set_workspace: library.function("rocblas_set_workspace")?,
                multiply: library.function("rocblas_gemm_strided_batched_ex")?,
                status_text: library.function("rocblas_status_to_string")?,
            };
            let status = (create.call)(&mut blas.handle);
            blas.check(create.name, status)?;
            Ok(blas)
        }
    }

    /// Whether it computes `spec`.
    pub fn supports(spec: &GemmSpec) -> bool {
        spec.precision != Precision::Tf32
    }

    /// # Safety
    /// As for [`GemmPlan::run`](super::GemmPlan::run); `stream` is alive.
    pub unsafe fn multiply(
        &self,
        spec: &GemmSpec,
        operands: &GemmOperands,
        workspace: Workspace,
        stream: Opaque,
    ) -> Result<(), DriverError> {
        let input = match spec.precision {
            Precision::F32 | Precision::Tf32 => TYPE_F32,
            Precision::Bf16 => TYPE_BF16,
        };
        let output = match spec.output {
            OutputType::F32 => TYPE_F32,
            OutputType::Bf16 => TYPE_BF16,
        };
        let operation = |operand: Operand| {
            if operand.transposed {
                OPERATION_TRANSPOSED
            } else {
                OPERATION_PLAIN
            }
        };
        let [m, n, k, batch] = [spec.m, spec.n, spec.k, spec.batch].map(narrow);
        let (m, n, k, batch) = (m?, n?, k?, batch?);
        let [row_a, row_b, row_d] =
            [spec.a, spec.b, spec.d].map(|operand| narrow(operand.row_stride));
        let (row_a, row_b, row_d) = (row_a?, row_b?, row_d?);
        let [batch_a, batch_b, batch_d] =
            [spec.a, spec.b, spec.d].map(|operand| operand.batch_stride as i64);
        // SAFETY: the handle is ours; the operands are the caller's promise, exchanged as `gemm` says.
        unsafe {
            self.check(
                self.set_stream.name,
                (self.set_stream.call)(self.handle, stream),
            )?;
            self.check(
                self.set_workspace.name,
                (self.set_workspace.call)(self.handle, workspace.address.0, workspace.bytes),
            )?;
            let status = (self.multiply.call)(
                self.handle,
                operation(spec.b),
                operation(spec.a),
                n,
                m,
                k,
                ptr::from_ref(&operands.alpha).cast(),
                operands.b.0,
                input,
                row_b,
                batch_b,
                operands.a.0,
                input,
                row_a,
                batch_a,
                ptr::from_ref(&operands.beta).cast(),
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
            );
            self.check(self.multiply.name, status)
        }
    }

    fn check(&self, call: &'static str, status: c_int) -> Result<(), DriverError> {
        // SAFETY: the library returns a constant string for any status.
        check(Vendor::Amd, call, status, |status| unsafe {
            loader::text((self.status_text.call)(status))
        })
    }
}

impl Drop for RocBlas {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: created in `load` and destroyed only here.
            unsafe { (self.destroy.call)(self.handle) };
        }
    }
}

fn narrow(side: usize) -> Result<i32, DriverError> {
    i32::try_from(side)
        .map_err(|_| DriverError::Invalid(format!("a gemm side of {side} is too long for rocBLAS")))
}
