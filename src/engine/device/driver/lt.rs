//! cuBLASLt and hipBLASLt, which have one interface under two names and two sets of numbers.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::rc::Rc;

use super::gemm_spec::{GemmOperands, GemmPrecision, GemmSpec, Operand, OutputType};
use super::interface::Opaque;
use super::loader::{Function, SharedLibrary, Statuses, interface};
use super::lt_numbers::{CUBLAS, HIPBLAS, Numbers};
use super::{DriverError, Properties, Result, Stream, Vendor};

interface! {
    /// Signatures from `cublasLt.h` 13.10 and `hipblaslt.h` of ROCm 6.2 to 7.14.
    LtInterface {
        create(*mut Opaque) = "cublasLtCreate" | "hipblasLtCreate";
        destroy(Opaque) = "cublasLtDestroy" | "hipblasLtDestroy";
        create_product(*mut Opaque, c_int, c_int) = "cublasLtMatmulDescCreate" | "hipblasLtMatmulDescCreate";
        destroy_product(Opaque) = "cublasLtMatmulDescDestroy" | "hipblasLtMatmulDescDestroy";
        set_product(Opaque, c_int, *const c_void, usize)
            = "cublasLtMatmulDescSetAttribute" | "hipblasLtMatmulDescSetAttribute";
        create_layout(*mut Opaque, c_int, u64, u64, i64)
            = "cublasLtMatrixLayoutCreate" | "hipblasLtMatrixLayoutCreate";
        destroy_layout(Opaque) = "cublasLtMatrixLayoutDestroy" | "hipblasLtMatrixLayoutDestroy";
        set_layout(Opaque, c_int, *const c_void, usize)
            = "cublasLtMatrixLayoutSetAttribute" | "hipblasLtMatrixLayoutSetAttribute";
        create_preference(*mut Opaque) = "cublasLtMatmulPreferenceCreate" | "hipblasLtMatmulPreferenceCreate";
        destroy_preference(Opaque) = "cublasLtMatmulPreferenceDestroy" | "hipblasLtMatmulPreferenceDestroy";
        set_preference(Opaque, c_int, *const c_void, usize)
            = "cublasLtMatmulPreferenceSetAttribute" | "hipblasLtMatmulPreferenceSetAttribute";
        algorithms(Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, c_int, *mut c_void, *mut c_int)
            = "cublasLtMatmulAlgoGetHeuristic" | "hipblasLtMatmulAlgoGetHeuristic";
        multiply(
            Opaque, Opaque, *const c_void, u64, Opaque, u64, Opaque, *const c_void, u64, Opaque, u64, Opaque,
            *const c_void, u64, usize, Opaque,
        ) = "cublasLtMatmul" | "hipblasLtMatmul";
    }
}

interface! {
    HipVersion { version(Opaque, *mut c_int) = "hipblasLtGetVersion"; }
}

/// `CUDA_R_32F`, `HIP_R_32F`.
pub(super) const TYPE_F32: c_int = 0;
/// `CUDA_R_16BF`, `HIP_R_16BF`.
pub(super) const TYPE_BF16: c_int = 14;
/// `..._MATMUL_PREF_MAX_WORKSPACE_BYTES` of both.
pub(super) const MAX_WORKSPACE: c_int = 1;
/// The address of every operand is a multiple of this many bytes, as [`GemmPlan::run`](super::GemmPlan::run) requires.
const ALIGNMENT: u32 = 16;

/// The loaded library.
pub(super) struct LtLibrary {
    pub vendor: Vendor,
    interface: LtInterface,
    numbers: &'static Numbers,
    name: String,
    /// True if the device multiplies f32 rounded to fewer digits. hipBLASLt offers TF32 even on GPUs that lack it.
    has_tf32: bool,
    /// State for queries, and on CUDA for everything.
    handle: Option<LtHandle>,
}

/// The library's state for one stream: streams must not share hipBLASLt's state.
pub(super) type LtHandle = Descriptor;

/// A product and its algorithm.
pub(super) struct LtProduct {
    description: Rc<ProductDescription>,
    algorithm: [u8; 64],
    workspace: usize,
}

/// A product as described to the library, in its order of operands: its `a` is our `b`.
struct ProductDescription {
    product: Descriptor,
    a: Descriptor,
    b: Descriptor,
    d: Descriptor,
}

/// A state or descriptor of the library: host memory, freed when dropped.
pub(super) struct Descriptor {
    handle: Opaque,
    destroy: unsafe extern "C" fn(Opaque) -> c_int,
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // A failure here has no consequence.
        // SAFETY: created by the library and destroyed only here.
        unsafe { (self.destroy)(self.handle) };
    }
}

/// Creates an object with one of the library's functions. The other function destroys it.
macro_rules! create {
    ($library:expr, $create:ident($($argument:expr),*), $destroy:ident) => {{
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer to the handle is valid for writing.
        unsafe { $library.interface.$create(&mut handle $(, $argument)*) }.map(|()| Descriptor {
            handle,
            destroy: $library.interface.$destroy.call,
        })
    }};
}

impl LtLibrary {
    /// Loads the library that belongs to the device's driver.
    pub fn load(properties: &Properties) -> Result<Self> {
        const CUDA: [&str; 3] = ["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"];
        let vendor = properties.vendor;
        let names: &[&str] = match vendor {
            Vendor::Nvidia => &CUDA[usize::from(properties.driver_major < 13)..],
            Vendor::Amd => &["libhipblaslt.so", "libhipblaslt.so.1", "libhipblaslt.so.0"],
        };
        let library = SharedLibrary::load(vendor, names, &[])?;
        let numbers = match vendor {
            Vendor::Nvidia => &CUBLAS,
            Vendor::Amd => &HIPBLAS,
        };
        let statuses = Statuses::new(vendor, |status| numbers.status_name(status));
        let mut loaded = LtLibrary {
            vendor,
            interface: LtInterface::load(&library, &statuses)?,
            numbers,
            name: String::new(),
            has_tf32: vendor == Vendor::Nvidia || properties.arch.starts_with("gfx94"),
            handle: None,
        };
        let handle = loaded.handle()?;
        loaded.name = loaded.read_name(&library, &handle)?;
        loaded.handle = Some(handle);
        Ok(loaded)
    }

    /// Returns whether the library has kernels for the device. Asks for a product that every library has.
    pub fn has_kernels(&self) -> Result<bool> {
        const SIDE: usize = 32;
        const WORKSPACE: usize = 32 << 20;
        let product = GemmSpec::new(SIDE, SIDE, SIDE, GemmPrecision::F32);
        Ok(!self.candidates(&product, WORKSPACE, 1)?.is_empty())
    }

    /// Returns the name and version, for example `cuBLASLt 13.10.0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn read_name(&self, library: &SharedLibrary, handle: &LtHandle) -> Result<String> {
        match self.vendor {
            Vendor::Nvidia => {
                type LtVersion = unsafe extern "C" fn() -> usize;
                // SAFETY: the function has no arguments.
                let version = unsafe {
                    let version: Function<LtVersion> = library.function(&["cublasLtGetVersion"])?;
                    (version.call)()
                };
                // Up to version 12 the major version was multiplied by 1000 only.
                let (major, rest) = match version {
                    0..100_000 => (version / 1000, version % 1000 * 100),
                    _ => (version / 10_000, version % 10_000),
                };
                Ok(format!("cuBLASLt {major}.{}.{}", rest / 100, rest % 100))
            }
            Vendor::Amd => {
                let table = HipVersion::load(library, &self.interface.statuses)?;
                let mut number = 0;
                // SAFETY: the pointer to the result is valid for writing.
                unsafe { table.version(handle.handle, &mut number)? };
                let (major, minor, patch) = (number / 100_000, number / 100 % 1000, number % 100);
                Ok(format!("hipBLASLt {major}.{minor}.{patch}"))
            }
        }
    }

    /// Creates the state for a stream.
    pub fn handle(&self) -> Result<LtHandle> {
        create!(self, create(), destroy)
    }

    /// Returns the library's own state.
    fn handle_pointer(&self) -> Opaque {
        let own = self.handle.as_ref();
        own.map_or(ptr::null_mut(), |own| own.handle)
    }

    /// Returns up to `limit` algorithms for `spec` with at most `workspace` bytes, the library's first choice first.
    pub fn candidates(
        &self,
        spec: &GemmSpec,
        workspace: usize,
        limit: usize,
    ) -> Result<Vec<LtProduct>> {
        if spec.precision == GemmPrecision::Tf32 && !self.has_tf32 {
            return Ok(vec![]);
        }
        let description = Rc::new(self.describe(spec)?);
        let preference = self.preference(workspace)?;
        let mut results = vec![0_u64; limit * self.numbers.result_bytes / 8];
        let mut found = 0;
        let algorithms = self.interface.algorithms;
        let ProductDescription { product, a, b, d } = &*description;
        // SAFETY: the descriptors are alive, and there is room for as many results as requested.
        let status = unsafe {
            (algorithms.call)(
                self.handle_pointer(),
                product.handle,
                a.handle,
                b.handle,
                d.handle,
                d.handle,
                preference.handle,
                c_int::try_from(limit).unwrap_or(c_int::MAX),
                results.as_mut_ptr().cast(),
                &mut found,
            )
        };
        if self.is_unsupported(status) {
            return Ok(vec![]);
        }
        self.interface.statuses.check(algorithms.name, status)?;
        let found = usize::try_from(found).unwrap_or(0).min(limit);
        let products = super::memory::bytes_of(&results)
            .chunks_exact(self.numbers.result_bytes)
            .take(found)
            .filter_map(|result| self.read_result(result))
            .filter(|(_, needed)| *needed <= workspace)
            .map(|(algorithm, workspace)| LtProduct {
                description: Rc::clone(&description),
                algorithm,
                workspace,
            });
        Ok(products.collect())
    }

    /// Reads algorithm and workspace from a heuristic result: `{ algorithm, size_t workspace, int state, float waves,
    /// int[4] }`.
    fn read_result(&self, result: &[u8]) -> Option<([u8; 64], usize)> {
        let (bytes, rest) = result.split_at_checked(self.numbers.algorithm_bytes)?;
        let workspace = usize::from_ne_bytes(rest.get(..8)?.try_into().ok()?);
        let state = c_int::from_ne_bytes(rest.get(8..12)?.try_into().ok()?);
        let mut algorithm = [0; 64];
        algorithm.get_mut(..bytes.len())?.copy_from_slice(bytes);
        (state == 0).then_some((algorithm, workspace))
    }

    /// Computes the product in `stream`.
    ///
    /// # Safety
    /// As for [`GemmPlan::run`](super::GemmPlan::run); `state` belongs to `stream`.
    pub unsafe fn multiply(
        &self,
        state: Option<&LtHandle>,
        product: &LtProduct,
        operands: &GemmOperands,
        stream: &Stream,
    ) -> Result<()> {
        let (workspace, bytes) = stream.workspace();
        if product.workspace > bytes {
            return Err(DriverError::Invalid(format!(
                "a gemm that needs {} bytes of workspace in a stream with {bytes}",
                product.workspace
            )));
        }
        let layouts = &product.description;
        let (a, b, d) = (layouts.a.handle, layouts.b.handle, layouts.d.handle);
        let GemmOperands { alpha, beta, .. } = operands;
        // SAFETY: descriptors and algorithm are alive and made for each other; the caller guarantees the rest. The
        // library reads the scalars before the call returns. The operands are exchanged, as the module explains.
        unsafe {
            self.interface.multiply(
                state.map_or(self.handle_pointer(), |state| state.handle),
                layouts.product.handle,
                ptr::from_ref(alpha).cast(),
                operands.b.0,
                a,
                operands.a.0,
                b,
                ptr::from_ref(beta).cast(),
                operands.c.0,
                d,
                operands.d.0,
                d,
                product.algorithm.as_ptr().cast(),
                workspace,
                bytes,
                stream.handle(),
            )
        }
    }

    fn describe(&self, spec: &GemmSpec) -> Result<ProductDescription> {
        let element = |stored: OutputType| match stored {
            OutputType::F32 => TYPE_F32,
            OutputType::Bf16 => TYPE_BF16,
        };
        let (input, output) = (element(spec.precision.stored()), element(spec.output));
        let compute = match spec.precision {
            GemmPrecision::Tf32 => self.numbers.compute_tf32,
            GemmPrecision::F32 | GemmPrecision::Bf16 => self.numbers.compute_f32,
        };
        let product = create!(self, create_product(compute, TYPE_F32), destroy_product)?;
        self.set_transposition(&product, self.numbers.transpose_a, spec.b)?;
        self.set_transposition(&product, self.numbers.transpose_b, spec.a)?;
        Ok(ProductDescription {
            product,
            a: self.layout(input, spec.b, spec.k, spec.n, spec.batch)?,
            b: self.layout(input, spec.a, spec.m, spec.k, spec.batch)?,
            d: self.layout(output, spec.d, spec.m, spec.n, spec.batch)?,
        })
    }

    fn set_transposition(
        &self,
        product: &Descriptor,
        which: c_int,
        operand: Operand,
    ) -> Result<()> {
        let operation = match operand.transposed {
            true => self.numbers.operation_transposed,
            false => self.numbers.operation_plain,
        };
        self.set(self.interface.set_product, product, which, &operation)
    }

    /// Creates the layout of a matrix used as `[rows, columns]`. The library is column-major, so a stored row is its column.
    fn layout(
        &self,
        element: c_int,
        operand: Operand,
        rows: usize,
        columns: usize,
        batch: usize,
    ) -> Result<Descriptor> {
        let (columns, rows) = operand.stored(rows as u64, columns as u64);
        let leading = operand.row_stride as i64;
        let layout = create!(
            self,
            create_layout(element, rows, columns, leading),
            destroy_layout
        )?;
        if batch > 1 {
            let set = self.interface.set_layout;
            let count = i32::try_from(batch)
                .map_err(|_| DriverError::Invalid(format!("a gemm batch of {batch}")))?;
            self.set(set, &layout, self.numbers.batch_count, &count)?;
            let stride = operand.batch_stride as i64;
            self.set(set, &layout, self.numbers.batch_stride, &stride)?;
        }
        Ok(layout)
    }

    fn preference(&self, workspace: usize) -> Result<Descriptor> {
        let preference = create!(self, create_preference(), destroy_preference)?;
        let set = self.interface.set_preference;
        self.set(set, &preference, MAX_WORKSPACE, &(workspace as u64))?;
        for alignment in self.numbers.alignments {
            self.set(set, &preference, *alignment, &ALIGNMENT)?;
        }
        Ok(preference)
    }

    fn set<T>(
        &self,
        set: Function<unsafe extern "C" fn(Opaque, c_int, *const c_void, usize) -> c_int>,
        descriptor: &Descriptor,
        attribute: c_int,
        value: &T,
    ) -> Result<()> {
        // SAFETY: the value has the given length, and the call copies it.
        let status = unsafe {
            (set.call)(
                descriptor.handle,
                attribute,
                ptr::from_ref(value).cast(),
                size_of::<T>(),
            )
        };
        self.interface.statuses.check(set.name, status)
    }

    /// Returns whether the status means that there is no algorithm. That is a result, not a failure.
    fn is_unsupported(&self, status: c_int) -> bool {
        self.numbers
            .status_name(status)
            .is_some_and(|name| name.ends_with("NOT_SUPPORTED") || name.ends_with("INVALID_VALUE"))
    }
}
