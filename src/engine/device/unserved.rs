//! GPUs of this machine that a run does not use, with the reason.

use std::path::Path;

use super::driver::{self, ListedDevice, Vendor};
use super::select::{open_backend, open_driver, vendor_of};
use super::{Backend, BackendChoice, DeviceError, is_compiled_in};
use tinyllama_base::kfd;

/// Beginnings of the names of architectures whose wave size burn knows.
const KNOWN_TO_BURN: [&str; 7] = [
    "gfx908", "gfx90a", "gfx94", "gfx101", "gfx103", "gfx11", "gfx12",
];

/// Refuses a GPU whose wave size burn does not know, because burn's client would panic.
pub fn check(device: &ListedDevice) -> Result<(), DeviceError> {
    let arch = device.arch.as_deref();
    arch.map_or(Ok(()), |arch| check_architecture(&device.name, arch))
}

/// Like `check`, for a GPU that need not be on this machine.
///
/// # Errors
/// If burn does not know the architecture.
pub fn check_architecture(device: &str, arch: &str) -> Result<(), DeviceError> {
    let is_known = KNOWN_TO_BURN.iter().any(|known| arch.starts_with(known));
    match arch.starts_with("gfx") && !is_known {
        true => Err(DeviceError::UnknownArchitecture {
            device: device.to_owned(),
            arch: arch.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Returns a note on the first GPU of this machine that was skipped when `choice` selected `taken`.
pub fn explain_passed_over(
    choice: BackendChoice,
    wanted: Option<&str>,
    taken: Backend,
) -> Option<String> {
    let why = || {
        let by_driver = open_driver(Backend::Rocm, wanted).err();
        by_driver.or_else(|| open_backend(Backend::Rocm, wanted).err())
    };
    let listed =
        || driver::inventory(Vendor::Nvidia).map_or_else(|_| vec![], |known| known.devices);
    notice(choice, taken, Path::new(kfd::TOPOLOGY), why)
        .or_else(|| without_cuda(choice, taken, listed))
}

/// An NVIDIA GPU that only lacks the backend in this build.
fn without_cuda(
    choice: BackendChoice,
    taken: Backend,
    listed: impl FnOnce() -> Vec<ListedDevice>,
) -> Option<String> {
    let backend = Backend::Cuda;
    if choice != BackendChoice::Auto || taken != Backend::Cpu || is_compiled_in(backend) {
        return None;
    }
    let gpu = listed().into_iter().next()?;
    let error = DeviceError::NotCompiledIn { backend };
    let (name, remedy) = (gpu.name, error.remedy());
    Some(format!(
        "{name} is not used, this runs on {taken}: {error}. {remedy}"
    ))
}

fn notice(
    choice: BackendChoice,
    taken: Backend,
    topology: &Path,
    why: impl FnOnce() -> Option<DeviceError>,
) -> Option<String> {
    let fell_back = choice == BackendChoice::Auto && vendor_of(taken).is_none();
    let present = match fell_back {
        true => kfd::readable_gpus(topology),
        false => vec![],
    };
    let gpu = present.first()?;
    let error = why()?;
    Some(format!(
        "the AMD GPU {} (KFD node {}) is not used, this runs on {taken}: {error}. {}",
        gpu.label(),
        gpu.node,
        error.remedy()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(arch: &str) -> ListedDevice {
        ListedDevice {
            name: "AMD Instinct".into(),
            arch: Some(arch.into()),
            memory: 1,
        }
    }

    #[test]
    fn a_gpu_that_burn_does_not_know_is_refused_by_name() {
        for arch in ["gfx90a", "gfx942", "gfx1100", "gfx1151", "gfx1201"] {
            check(&listed(arch)).unwrap();
        }
        for arch in ["gfx950", "gfx906"] {
            let error = check(&listed(arch)).unwrap_err();
            assert!(error.to_string().contains(arch), "{error}");
            assert!(error.remedy().contains("run v4"), "{}", error.remedy());
        }
    }

    #[test]
    fn a_gpu_that_is_there_is_named_before_anything_falls_back() {
        let amd = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/fixtures/kfd/testdata/topo-mi300-cpx/topology");
        let why = || {
            Some(DeviceError::NotCompiledIn {
                backend: Backend::Rocm,
            })
        };
        let auto = BackendChoice::Auto;
        for taken in [Backend::Cpu, Backend::Vulkan] {
            let said = notice(auto, taken, &amd, why).unwrap();
            for part in ["gfx942", taken.name(), "--features rocm"] {
                assert!(said.contains(part), "{part}: {said}");
            }
            assert_eq!(said.lines().count(), 1);
        }
        let no_gpu = tempfile::tempdir().unwrap();
        assert_eq!(notice(auto, Backend::Cpu, no_gpu.path(), why), None);
        assert_eq!(notice(auto, Backend::Rocm, &amd, why), None);
        assert_eq!(notice(BackendChoice::Cpu, Backend::Cpu, &amd, why), None);
    }

    #[test]
    fn a_gpu_of_nvidia_is_named_where_the_build_lacks_its_backend() {
        let devices = || {
            vec![ListedDevice {
                name: "NVIDIA H200".into(),
                arch: None,
                memory: 1,
            }]
        };
        let said = without_cuda(BackendChoice::Auto, Backend::Cpu, devices);
        assert_eq!(said.is_some(), !is_compiled_in(Backend::Cuda));
        if let Some(said) = said {
            let named = said.contains("NVIDIA H200") && said.contains("--features cuda");
            assert!(named && said.lines().count() == 1, "{said}");
        }
        assert_eq!(
            without_cuda(BackendChoice::Cpu, Backend::Cpu, devices),
            None
        );
        assert_eq!(
            without_cuda(BackendChoice::Auto, Backend::Vulkan, devices),
            None
        );
        assert_eq!(
            without_cuda(BackendChoice::Auto, Backend::Cpu, Vec::new),
            None
        );
    }
}
