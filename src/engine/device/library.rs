//! Probes the shared libraries that burn's backends load, in the places where the backends look.

use std::path::PathBuf;
use std::process::Command;

use libloading::Library;

use super::driver::{Vendor, explain, toolkits_named};
use super::{Backend, DeviceError};
use tinyllama_base::die_with_parent;

/// Fails with the first library of `backend` that cannot be loaded.
pub fn check(backend: Backend) -> Result<(), DeviceError> {
    let plain = |names: &[&str]| names.iter().map(PathBuf::from).collect();
    // Each entry has a name, the paths to search, and a function that older versions lack. Without the function, the
    // bindings would end the process.
    let needed: Vec<(&'static str, Vec<PathBuf>, Option<&'static str>)> = match backend {
        Backend::Cpu => vec![],
        Backend::Vulkan => vec![(
            "libvulkan.so.1",
            plain(&["libvulkan.so.1", "libvulkan.so"]),
            None,
        )],
        Backend::Cuda => vec![
            ("libcuda.so.1", plain(&["libcuda.so.1", "libcuda.so"]), None),
            (
                "libnvrtc.so",
                plain(&["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]),
                None,
            ),
        ],
        Backend::Rocm => [
            ("libamdhip64.so", Some("hipGetDevicePropertiesR0600")),
            ("libhiprtc.so", None),
        ]
        .map(|(library, newest)| (library, rocm_candidates(library), newest))
        .into(),
    };
    for (library, candidates, newest) in needed {
        let loaded = load_any(&candidates).map_err(|detail| DeviceError::LibraryMissing {
            backend,
            library,
            detail,
        })?;
        if let Some(function) = newest.filter(|function| !has(&loaded, function)) {
            return Err(DeviceError::LibraryTooOld {
                backend,
                library,
                function,
            });
        }
    }
    match backend {
        Backend::Rocm => {
            ask(Command::new("hipconfig")).map_err(|detail| DeviceError::Hipconfig { detail })
        }
        _ => Ok(()),
    }
}

/// Asks `hipconfig` for the folder of HIP, as burn's client does. Without an answer the client's thread ends, and its
/// callers wait for ever. It also ends if anything is written to the error stream.
fn ask(mut hipconfig: Command) -> Result<(), String> {
    die_with_parent(&mut hipconfig, libc::SIGKILL);
    let output = hipconfig.arg("-p").output();
    let output = output.map_err(|error| error.to_string())?;
    let errors = String::from_utf8_lossy(&output.stderr);
    match errors.lines().next() {
        Some(line) => Err(format!("it writes to its error stream: {line}")),
        None if output.stdout.trim_ascii().is_empty() => Err("it names no folder".into()),
        None => Ok(()),
    }
}

/// Returns whether `library` has `function`, without calling it.
fn has(library: &Library, function: &str) -> bool {
    // SAFETY: no function is called through it.
    unsafe { library.get::<*const ()>(function.as_bytes()) }.is_ok()
}

/// Returns the places where the HIP bindings look: `lib/` and the folder itself of ROCM_PATH and HIP_PATH, then the
/// loader's path.
fn rocm_candidates(library: &'static str) -> Vec<PathBuf> {
    // The bindings try the same three suffixes. They do not find a library that exists only as, for example, .so.6.
    let names = ["", ".1", ".0"].map(|suffix| format!("{library}{suffix}"));
    let mut candidates: Vec<PathBuf> = toolkits_named(Vendor::Amd)
        .into_iter()
        .flat_map(|folder| [folder.join("lib"), folder])
        .flat_map(|folder| names.clone().map(|name| folder.join(name)))
        .collect();
    candidates.extend(names.map(PathBuf::from));
    candidates
}

fn load_any(candidates: &[PathBuf]) -> Result<Library, String> {
    let mut last = String::from("no name to try");
    for candidate in candidates {
        // SAFETY: loading runs the library's initialisers. These are the vendor's own libraries, which the backend
        // would load next anyway.
        match unsafe { Library::new(candidate) } {
            Ok(library) => return Ok(library),
            Err(error) => last = explain(&error),
        }
    }
    Err(last)
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
    fn a_hipconfig_that_the_client_could_not_use_is_refused() {
        let answer = |script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            ask(shell)
        };
        assert_eq!(answer("echo /opt/rocm"), Ok(()));
        assert!(
            answer("echo /opt/rocm; echo a warning >&2")
                .unwrap_err()
                .contains("a warning")
        );
        assert!(answer("exit 1").is_err());
        assert!(ask(Command::new("/no/such/hipconfig")).is_err());
    }

    #[test]
    fn the_cpu_needs_no_library() {
        assert_eq!(check(Backend::Cpu), Ok(()));
    }
}
