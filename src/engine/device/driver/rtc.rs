//! Compiles at run time with nvrtc or hiprtc, which have one interface under two names.

use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr;

use super::compile::CompileRequest;
use super::interface::Opaque;
use super::loader::{self, Function, SharedLibrary, Statuses, interface};
use super::{DriverError, Properties, Result, Vendor};

interface! {
    /// Signatures from `nvrtc.h` 13.5 and `hip/hiprtc.h`.
    CompilerInterface {
        version(*mut c_int, *mut c_int) = "nvrtcVersion" | "hiprtcVersion";
        create(*mut Opaque, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char)
            = "nvrtcCreateProgram" | "hiprtcCreateProgram";
        destroy(*mut Opaque) = "nvrtcDestroyProgram" | "hiprtcDestroyProgram";
        compile(Opaque, c_int, *const *const c_char) = "nvrtcCompileProgram" | "hiprtcCompileProgram";
        log_size(Opaque, *mut usize) = "nvrtcGetProgramLogSize" | "hiprtcGetProgramLogSize";
        log(Opaque, *mut c_char) = "nvrtcGetProgramLog" | "hiprtcGetProgramLog";
        code_size(Opaque, *mut usize) = "nvrtcGetCUBINSize" | "hiprtcGetCodeSize";
        code(Opaque, *mut c_char) = "nvrtcGetCUBIN" | "hiprtcGetCode";
    }
}

interface! {
    /// Further functions that only nvrtc has.
    CudaCompiler {
        arch_count(*mut c_int) = "nvrtcGetNumSupportedArchs";
        archs(*mut c_int) = "nvrtcGetSupportedArchs";
        ptx_size(Opaque, *mut usize) = "nvrtcGetPTXSize";
        ptx(Opaque, *mut c_char) = "nvrtcGetPTX";
    }
}

/// The libraries' functions that return the text of a status.
pub(super) const STATUS_TEXT: [&str; 2] = ["nvrtcGetErrorString", "hiprtcGetErrorString"];

type CodeSize = unsafe extern "C" fn(Opaque, *mut usize) -> c_int;
type Code = unsafe extern "C" fn(Opaque, *mut c_char) -> c_int;

/// The run-time compiler of one vendor.
pub struct RuntimeCompiler {
    vendor: Vendor,
    /// The driver's version, because hiprtc's own version tells nothing.
    driver: String,
    interface: CompilerInterface,
    cuda: Option<CudaCompiler>,
    include_folders: Vec<PathBuf>,
}

/// A program being compiled.
struct Program<'a> {
    handle: Opaque,
    compiler: &'a RuntimeCompiler,
}

impl RuntimeCompiler {
    /// Loads the compiler that belongs to the device's driver, because code of a newer one may not load. The device
    /// need not exist.
    ///
    /// # Errors
    /// Fails if the compiler's library is missing or too old.
    pub fn load(properties: &Properties) -> Result<Self> {
        const CUDA: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
        let vendor = properties.vendor;
        let names: &[&str] = match vendor {
            Vendor::Nvidia => &CUDA[usize::from(properties.driver_major < 13)..],
            Vendor::Amd => &["libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6"],
        };
        let library = SharedLibrary::load(vendor, names, &[])?;
        let statuses = Statuses::from_library(&library, &STATUS_TEXT)?;
        let interface = CompilerInterface::load(&library, &statuses)?;
        let file = library.file(interface.version);
        Ok(RuntimeCompiler {
            vendor,
            interface,
            driver: properties.driver.clone(),
            cuda: match vendor {
                Vendor::Nvidia => Some(CudaCompiler::load(&library, &statuses)?),
                Vendor::Amd => None,
            },
            include_folders: include_folders(vendor, file.as_deref()),
        })
    }

    /// Returns `nvrtc 13.5`, or `hiprtc of HIP 7.1.52802`. hiprtc's own version is 9.0 with every HIP.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn version(&self) -> Result<String> {
        if self.vendor == Vendor::Amd {
            return Ok(format!("hiprtc of {}", self.driver));
        }
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the pointers to both numbers are valid for writing.
        unsafe { self.interface.version(&mut major, &mut minor)? };
        Ok(format!("nvrtc {major}.{minor}"))
    }

    /// Compiles for the request's device: a cubin or an AMD code object, or PTX if this compiler is older than the
    /// device.
    ///
    /// # Errors
    /// The compiler's errors in the source, or that the compiler does not work here.
    pub fn compile(&self, request: &CompileRequest) -> Result<Vec<u8>> {
        let mut options = request.options.clone();
        let substitute = self.substitute_arch(&request.arch)?;
        if let Some(arch) = &substitute {
            for option in options
                .iter_mut()
                .filter(|option| option.starts_with("--gpu-architecture="))
            {
                *option = format!("--gpu-architecture={arch}");
            }
        }
        options.extend(
            self.include_folders
                .iter()
                .map(|folder| format!("-I{}", folder.display())),
        );
        let program = self.program(request)?;
        program.compile(request, &options)?;
        match (&self.cuda, substitute) {
            (Some(cuda), Some(_)) => program.read(cuda.ptx_size, cuda.ptx),
            _ => program.read(self.interface.code_size, self.interface.code),
        }
    }

    fn program(&self, request: &CompileRequest) -> Result<Program<'_>> {
        let text = c_string(&request.text, "the source")?;
        let name = c_string(&request.name, "the source's name")?;
        let (text, name, interface) = (text.as_ptr(), name.as_ptr(), &self.interface);
        let mut handle = ptr::null_mut();
        let none = ptr::null();
        // SAFETY: both strings live until the call has copied them.
        unsafe { interface.create(&mut handle, text, name, 0, none, none)? };
        Ok(Program {
            handle,
            compiler: self,
        })
    }

    /// Returns the newest architecture that this compiler knows, if that is older than `arch`.
    fn substitute_arch(&self, arch: &str) -> Result<Option<String>> {
        let Some(cuda) = &self.cuda else {
            return Ok(None);
        };
        let Ok(wanted) = arch.trim_start_matches("sm_").parse::<c_int>() else {
            return Ok(None);
        };
        let mut count = 0;
        // SAFETY: the first call writes one number, the second as many as that number says.
        let known = unsafe {
            cuda.arch_count(&mut count)?;
            let mut known = vec![0; usize::try_from(count).unwrap_or(0)];
            cuda.archs(known.as_mut_ptr())?;
            known
        };
        if known.contains(&wanted) {
            return Ok(None);
        }
        let newest = known.into_iter().filter(|known| *known < wanted).max();
        Ok(newest.map(|arch| format!("compute_{arch}")))
    }
}

impl Program<'_> {
    fn compile(&self, request: &CompileRequest, options: &[String]) -> Result<()> {
        let options = options
            .iter()
            .map(|option| c_string(option, "a compiler option"))
            .collect::<Result<Vec<_>>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len())
            .map_err(|_| DriverError::Invalid("too many compiler options".into()))?;
        let interface = &self.compiler.interface;
        // SAFETY: there are `count` pointers, each to a string that lives through the call.
        let compiled = unsafe { interface.compile(self.handle, count, pointers.as_ptr()) };
        let Err(refused) = compiled else {
            return Ok(());
        };
        match self.log()? {
            // If the compiler refuses without a message about the source, the compiler itself has a problem.
            log if log.is_empty() => Err(refused),
            log => Err(DriverError::Compile {
                name: request.name.clone(),
                arch: request.arch.clone(),
                log,
            }),
        }
    }

    fn log(&self) -> Result<String> {
        let interface = &self.compiler.interface;
        let bytes = self.read(interface.log_size, interface.log)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.trim_end_matches('\0').trim().to_owned())
    }

    /// Reads bytes through two functions: one returns the size, the other copies.
    fn read(&self, size: Function<CodeSize>, copy: Function<Code>) -> Result<Vec<u8>> {
        let statuses = &self.compiler.interface.statuses;
        let mut bytes = 0;
        // SAFETY: the first call writes the size, the second that many bytes.
        unsafe {
            statuses.check(size.name, (size.call)(self.handle, &mut bytes))?;
            let mut buffer = vec![0_u8; bytes];
            let place = buffer.as_mut_ptr().cast();
            statuses.check(copy.name, (copy.call)(self.handle, place))?;
            Ok(buffer)
        }
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // The call frees host memory; a failure has no consequence.
        // SAFETY: created by this compiler and destroyed only here.
        unsafe { (self.compiler.interface.destroy.call)(&mut self.handle) };
    }
}

fn c_string(text: &str, what: &str) -> Result<CString> {
    CString::new(text).map_err(|_| DriverError::Invalid(format!("{what} contains a zero byte")))
}

/// Returns folders with the toolkit's headers. hiprtc has its headers built in.
fn include_folders(vendor: Vendor, library: Option<&Path>) -> Vec<PathBuf> {
    if vendor == Vendor::Amd {
        return vec![];
    }
    let beside_library = library
        .and_then(|file| file.canonicalize().ok())
        .and_then(|file| Some(file.parent()?.parent()?.to_path_buf()));
    loader::toolkits_named(vendor)
        .into_iter()
        .chain(beside_library)
        .chain(loader::usual_toolkits(vendor))
        .map(|toolkit| toolkit.join("include"))
        .filter(|folder| folder.join("cuda_bf16.h").exists())
        .collect()
}
