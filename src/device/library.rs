//! Probing for the shared libraries of a backend, and asking them the few things burn does not tell.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::path::PathBuf;

use libloading::{Library, Symbol};

use super::{Backend, DeviceError};

/// A library of a backend and the names it goes by.
struct Needed {
    library: &'static str,
    candidates: Vec<PathBuf>,
    /// A function that older versions lack. The bindings end the process where it is missing.
    newest: Option<&'static str>,
}

/// Fails with the first library of `backend` that cannot be loaded.
pub fn check(backend: Backend) -> Result<(), DeviceError> {
    for needed in needed(backend) {
        let library =
            load_any(&needed.candidates).map_err(|detail| DeviceError::LibraryMissing {
                backend,
                library: needed.library,
                detail,
            })?;
        if let Some(function) = needed.newest
            && !has(&library, function)
        {
            return Err(DeviceError::LibraryTooOld {
                backend,
                library: needed.library,
                function,
            });
        }
    }
    Ok(())
}

fn needed(backend: Backend) -> Vec<Needed> {
    match backend {
        Backend::Cpu => vec![],
        Backend::Vulkan => vec![Needed {
            library: "libvulkan.so.1",
            candidates: vec!["libvulkan.so.1".into(), "libvulkan.so".into()],
            newest: None,
        }],
        Backend::Cuda => vec![
            Needed {
                library: "libcuda.so.1",
                candidates: vec!["libcuda.so.1".into(), "libcuda.so".into()],
                newest: None,
            },
            Needed {
                library: "libnvrtc.so",
                candidates: ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]
                    .map(PathBuf::from)
                    .into(),
                newest: None,
            },
        ],
        Backend::Rocm => [
            ("libamdhip64.so", Some("hipGetDevicePropertiesR0600")),
            ("libhiprtc.so", None),
        ]
        .map(|(library, newest)| Needed {
            library,
            candidates: rocm_candidates(library),
            newest,
        })
        .into(),
    }
}

/// Whether `library` has `function`, which is not called.
fn has(library: &Library, function: &str) -> bool {
    // SAFETY: no function is called through it.
    unsafe { library.get::<*const ()>(function.as_bytes()) }.is_ok()
}

/// Where the HIP bindings look: `lib/` and the folder itself of ROCM_PATH and HIP_PATH, then the loader's path.
fn rocm_candidates(library: &'static str) -> Vec<PathBuf> {
    // The same three suffixes as the bindings: a versioned name such as .so.6 alone is not found by them.
    let names = ["", ".1", ".0"].map(|suffix| format!("{library}{suffix}"));
    let folders = ["ROCM_PATH", "HIP_PATH"]
        .iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
        .flat_map(|folder| [folder.join("lib"), folder]);
    let mut candidates: Vec<PathBuf> = folders
        .flat_map(|folder| names.clone().map(|name| folder.join(name)))
        .collect();
    candidates.extend(names.map(PathBuf::from));
    candidates
}

fn load_any(candidates: &[PathBuf]) -> Result<Library, String> {
    let mut last = String::from("no name to try");
    for candidate in candidates {
        // SAFETY: loading runs the library's initialisers; these are the vendor's own libraries, which the
        // backend would load itself a moment later.
        match unsafe { Library::new(candidate) } {
            Ok(library) => return Ok(library),
            Err(error) => last = explain(&error),
        }
    }
    Err(last)
}

/// The loader's own words, which the error's first line leaves out.
fn explain(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// The driver's version as the vendor's library states it.
pub fn driver_version(backend: Backend) -> Option<String> {
    match backend {
        Backend::Cuda => {
            let library = load_any(&["libcuda.so.1".into()]).ok()?;
            let version = read_int(&library, b"cuDriverGetVersion\0")?;
            Some(format!("CUDA {}.{}", version / 1000, version % 1000 / 10))
        }
        Backend::Rocm => {
            let library = load_any(&rocm_candidates("libamdhip64.so")).ok()?;
            let version = read_int(&library, b"hipDriverGetVersion\0")?;
            // major * 10^7 + minor * 10^5 + patch, from HIP's version macro.
            Some(format!(
                "HIP {}.{}.{}",
                version / 10_000_000,
                version / 100_000 % 100,
                version % 100_000
            ))
        }
        Backend::Vulkan | Backend::Cpu => None,
    }
}

/// Calls `status f(int *out)`; `None` where the symbol is absent or reports an error.
fn read_int(library: &Library, symbol: &[u8]) -> Option<c_int> {
    let mut value: c_int = 0;
    // SAFETY: both vendors declare the version queries as taking one int pointer and returning a status.
    let status = unsafe {
        let query: Symbol<unsafe extern "C" fn(*mut c_int) -> c_int> = library.get(symbol).ok()?;
        query(&mut value)
    };
    (status == 0).then_some(value)
}

/// The names of the GPUs that the vendor's driver reports; `None` where it does not answer. No GPU is opened.
pub fn device_names(backend: Backend) -> Option<Vec<String>> {
    let (candidates, init, count, name) = match backend {
        Backend::Cuda => (
            vec!["libcuda.so.1".into()],
            "cuInit",
            "cuDeviceGetCount",
            "cuDeviceGetName",
        ),
        Backend::Rocm => (
            rocm_candidates("libamdhip64.so"),
            "hipInit",
            "hipGetDeviceCount",
            "hipDeviceGetName",
        ),
        Backend::Vulkan | Backend::Cpu => return None,
    };
    let library = load_any(&candidates).ok()?;
    // SAFETY: signatures from cuda.h and hip_runtime_api.h, which agree; a device's handle is its index in both.
    unsafe {
        let init: Symbol<unsafe extern "C" fn(c_uint) -> c_int> =
            library.get(init.as_bytes()).ok()?;
        let count: Symbol<unsafe extern "C" fn(*mut c_int) -> c_int> =
            library.get(count.as_bytes()).ok()?;
        let name: Symbol<unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int> =
            library.get(name.as_bytes()).ok()?;
        let mut devices = 0;
        // Both answer with an error where there is none (CUDA_ERROR_NO_DEVICE, hipErrorNoDevice, both 100).
        for status in [init(0), count(&mut devices)] {
            match status {
                0 => {}
                100 => return Some(vec![]),
                _ => return None,
            }
        }
        let name_of = |device| {
            let mut text: [c_char; 256] = [0; 256];
            match name(text.as_mut_ptr(), 255, device) {
                0 => CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned(),
                _ => "a device without a name".into(),
            }
        };
        Some((0..devices).map(name_of).collect())
    }
}

/// Bytes of memory on device `index`.
pub fn device_memory(backend: Backend, index: usize) -> Option<u64> {
    let ordinal = c_int::try_from(index).ok()?;
    let mut bytes: usize = 0;
    let status = match backend {
        Backend::Cuda => {
            let library = load_any(&["libcuda.so.1".into()]).ok()?;
            let mut device: c_int = 0;
            // SAFETY: signatures as in cuda.h; the client has already initialised the driver.
            unsafe {
                let get: Symbol<unsafe extern "C" fn(*mut c_int, c_int) -> c_int> =
                    library.get(b"cuDeviceGet\0").ok()?;
                let total: Symbol<unsafe extern "C" fn(*mut usize, c_int) -> c_int> =
                    library.get(b"cuDeviceTotalMem_v2\0").ok()?;
                match get(&mut device, ordinal) {
                    0 => total(&mut bytes, device),
                    error => error,
                }
            }
        }
        Backend::Rocm => {
            let library = load_any(&rocm_candidates("libamdhip64.so")).ok()?;
            let mut free: usize = 0;
            // SAFETY: signature as in hip_runtime_api.h. It answers for the current device, the one just opened.
            unsafe {
                let info: Symbol<unsafe extern "C" fn(*mut usize, *mut usize) -> c_int> =
                    library.get(b"hipMemGetInfo\0").ok()?;
                info(&mut free, &mut bytes)
            }
        }
        Backend::Vulkan | Backend::Cpu => return None,
    };
    (status == 0).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named() {
        let detail = load_any(&["libno-such-library-here.so".into()]).unwrap_err();
        assert!(detail.contains("libno-such-library-here.so"), "{detail}");
    }

    #[test]
    fn a_function_that_a_library_lacks_is_noticed() {
        let library = load_any(&["libc.so.6".into()]).unwrap();
        assert!(has(&library, "malloc"));
        assert!(!has(&library, "hipGetDevicePropertiesR0600"));
    }

    #[test]
    fn the_cpu_needs_no_library() {
        assert_eq!(check(Backend::Cpu), Ok(()));
    }
}
