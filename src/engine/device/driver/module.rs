//! Compiled code, its kernels, and their launches.

use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use super::calls::OwnInterface;
use super::handle::DriverState;
use super::interface::{
    LaunchAttribute, LaunchConfig, Opaque, PROGRAMMATIC_SERIALIZATION, function_attribute,
};
use super::{Address, Driver, DriverError, Result, SourceCode};

/// Code loaded on the device. Dropping its last kernel unloads it.
#[derive(Clone)]
pub struct DeviceModule {
    loaded: Rc<Loaded>,
}

struct Loaded {
    handle: Opaque,
    name: String,
    shared: Rc<DriverState>,
}

/// A kernel and the resources that it needs.
#[derive(Clone)]
pub struct DeviceKernel {
    function: Opaque,
    name: String,
    pub attributes: KernelAttributes,
    module: Rc<Loaded>,
}

/// Resources of a compiled kernel, as the compiler reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelAttributes {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes that a thread keeps in device memory because registers do not suffice.
    pub spilled_bytes: usize,
    /// Bytes of shared memory declared in the kernel.
    pub static_shared_bytes: usize,
    /// Largest block with which it can be launched.
    pub max_threads: u32,
}

/// How a kernel is ordered relative to the previous work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaunchMode {
    /// The kernel starts when the previous work has ended.
    #[default]
    Ordered,
    /// The kernel's blocks may start while the previous kernel still runs, which hides the cost of its start. The
    /// kernel has to execute `griddepcontrol.wait` on **every** path before it reads the previous kernel's results or
    /// writes its inputs. A device without this feature orders the launch, and the kernel has to omit the instruction
    /// ([`Properties::overlapping`](super::Properties::overlapping)).
    Overlapping,
}

/// Grid, block, shared memory and order of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchSettings {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads per block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes. More than the default of 48 KiB needs [`DeviceKernel::allow_shared`].
    pub shared_bytes: u32,
    pub mode: LaunchMode,
}

impl LaunchSettings {
    /// Describes `blocks` blocks of `threads` threads in one dimension.
    pub fn linear(blocks: u32, threads: u32) -> Self {
        LaunchSettings::new([blocks, 1, 1], [threads, 1, 1])
    }

    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        LaunchSettings {
            grid,
            block,
            shared_bytes: 0,
            mode: LaunchMode::Ordered,
        }
    }

    pub fn with_shared(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    pub fn with_mode(mut self, mode: LaunchMode) -> Self {
        self.mode = mode;
        self
    }

    /// Returns the threads per block.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|&side| u64::from(side)).product()
    }
}

/// One argument of a kernel, by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchArgument<'a> {
    /// A pointer, or a number of up to 8 bytes in the lowest bytes.
    Value(u64),
    /// A structure passed by value, in the layout that the kernel declares.
    Structure(&'a [u8]),
}

impl<'a> LaunchArgument<'a> {
    /// A table passed by value, such as `struct { float *p[64]; }`. All arguments of a kernel share 4 KiB.
    pub fn structure<T: super::Plain>(numbers: &'a [T]) -> Self {
        LaunchArgument::Structure(super::memory::bytes_of(numbers))
    }

    fn pointer(&self) -> *mut c_void {
        match self {
            LaunchArgument::Value(value) => std::ptr::from_ref(value).cast_mut().cast(),
            LaunchArgument::Structure(bytes) => bytes.as_ptr().cast_mut().cast(),
        }
    }
}

macro_rules! argument_from {
    ($($from:ty => |$value:ident| $bits:expr),+ $(,)?) => {$(
        impl From<$from> for LaunchArgument<'_> {
            fn from($value: $from) -> Self {
                LaunchArgument::Value($bits)
            }
        }
    )+};
}

argument_from! {
    Address => |address| address.0,
    super::Slice => |slice| slice.address().0,
    u32 => |number| u64::from(number),
    i32 => |number| u64::from(number.cast_unsigned()),
    u64 => |number| number,
    i64 => |number| number.cast_unsigned(),
    f32 => |number| u64::from(number.to_bits()),
}

impl Driver {
    /// Compiles `source` for this device, or takes it from the cache, and loads it.
    ///
    /// # Errors
    /// [`DriverError::Compile`] with the compiler's log.
    pub fn compile(&self, source: &SourceCode) -> Result<DeviceModule> {
        let code = self.code(source)?;
        self.load(&source.name, &code)
    }

    fn load(&self, name: &str, code: &[u8]) -> Result<DeviceModule> {
        let mut handle: Opaque = ptr::null_mut();
        let code = code.as_ptr().cast();
        // SAFETY: the driver copies the code. It reads the length from the header (or, for PTX, finds the final zero).
        unsafe { self.shared.calls.load_module(&mut handle, code)? };
        Ok(DeviceModule {
            loaded: Rc::new(Loaded {
                handle,
                name: name.to_owned(),
                shared: Rc::clone(&self.shared),
            }),
        })
    }
}

impl DeviceModule {
    /// Returns the kernel `name`, which is declared `extern "C"`.
    ///
    /// # Errors
    /// [`DriverError::Call`] with both names if the module has no such kernel.
    pub fn kernel(&self, name: &str) -> Result<DeviceKernel> {
        let calls = &self.loaded.shared.calls;
        let c_name = CString::new(name)
            .map_err(|_| DriverError::Invalid("a kernel's name with a zero byte".into()))?;
        let mut function: Opaque = ptr::null_mut();
        // SAFETY: the module is loaded while `self.loaded` lives, which the kernel keeps.
        unsafe { calls.function(&mut function, self.loaded.handle, c_name.as_ptr()) }.map_err(
            |error| error.during(|| format!("kernel {name} of module {}", self.loaded.name)),
        )?;
        let read = |attribute| -> Result<u32> {
            let mut value = 0;
            // SAFETY: as above.
            unsafe { calls.function_attribute(&mut value, attribute, function)? };
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let attributes = KernelAttributes {
            registers: read(function_attribute::REGISTERS)?,
            spilled_bytes: read(function_attribute::LOCAL)? as usize,
            static_shared_bytes: read(function_attribute::STATIC_SHARED)? as usize,
            max_threads: read(function_attribute::MAX_THREADS)?,
        };
        Ok(DeviceKernel {
            function,
            name: name.to_owned(),
            attributes,
            module: Rc::clone(&self.loaded),
        })
    }
}

impl DeviceKernel {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Allows launches with up to `bytes` of dynamic shared memory. More than CUDA's default of 48 KiB needs this call.
    ///
    /// # Errors
    /// [`DriverError::Invalid`] with both figures if the device has less.
    pub fn allow_shared(&self, bytes: usize) -> Result<()> {
        let (calls, properties) = (&self.module.shared.calls, &self.module.shared.properties);
        let most = properties.shared_per_block_most;
        let needed = bytes + self.attributes.static_shared_bytes;
        if needed > most {
            return Err(DriverError::Invalid(format!(
                "kernel {} asks for {needed} bytes of shared memory a block; the device has {most}",
                self.name
            )));
        }
        let OwnInterface::Cuda(cuda, _) = &calls.own else {
            // HIP gives each launch the requested amount, up to the device's limit.
            return Ok(());
        };
        let attribute = function_attribute::MAX_DYNAMIC_SHARED;
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the function lives as long as its module, which `self` holds.
        unsafe { cuda.set_function_attribute(self.function, attribute, bytes) }
    }

    /// Puts a launch into a stream.
    ///
    /// # Safety
    /// As for [`Stream::launch`](super::Stream::launch).
    pub(super) unsafe fn launch(
        &self,
        launch: &LaunchSettings,
        stream: Opaque,
        arguments: &[LaunchArgument<'_>],
    ) -> Result<()> {
        let (calls, properties) = (&self.module.shared.calls, &self.module.shared.properties);
        let mut pointers: Vec<*mut c_void> =
            arguments.iter().map(LaunchArgument::pointer).collect();
        let arguments = pointers.as_mut_ptr();
        let none = ptr::null_mut();
        let function = self.function;
        let ([gx, gy, gz], [bx, by, bz], shared) = (launch.grid, launch.block, launch.shared_bytes);
        // SAFETY: the structures live through the call; the caller guarantees the rest.
        unsafe {
            match (launch.mode, &calls.own) {
                (LaunchMode::Overlapping, OwnInterface::Cuda(_, Some(extended)))
                    if properties.overlapping =>
                {
                    let attribute = LaunchAttribute {
                        id: PROGRAMMATIC_SERIALIZATION,
                        padding: 0,
                        value: [1, 0, 0, 0, 0, 0, 0, 0],
                    };
                    let config = LaunchConfig {
                        grid: launch.grid,
                        block: launch.block,
                        shared_bytes: shared,
                        stream,
                        attributes: &attribute,
                        attribute_count: 1,
                    };
                    extended.launch(&config, function, arguments, none)
                }
                (LaunchMode::Ordered | LaunchMode::Overlapping, _) => calls.launch(
                    function, gx, gy, gz, bx, by, bz, shared, stream, arguments, none,
                ),
            }
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: loaded by this driver; the last of its kernels has been dropped.
        let unloaded = unsafe { self.shared.calls.unload_module(self.handle) };
        self.shared.note(unloaded);
    }
}
