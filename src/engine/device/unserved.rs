//! AMD GPUs of this machine that a run does not use, with the reason.

use std::path::Path;

use tinyllama_kernels::source::Target;

use super::driver::ListedDevice;
use super::select::{open_backend, open_driver, vendor_of};
use super::{Backend, BackendChoice, DeviceError};
use tinyllama_base::kfd;

/// Refuses a GPU whose wave size burn does not know, because burn's client would panic.
pub fn check(device: &ListedDevice) -> Result<(), DeviceError> {
    match &device.arch {
        Some(arch) if Target::hip(arch).is_err() => Err(DeviceError::UnknownArchitecture {
            device: device.name.clone(),
            arch: arch.clone(),
        }),
        _ => Ok(()),
    }
}

/// Returns a note on AMD GPUs of this machine that were skipped when `choice` selected `taken`.
pub fn explain_passed_over(
    choice: BackendChoice,
    wanted: Option<&str>,
    taken: Backend,
) -> Option<String> {
    let why = || {
        let by_driver = open_driver(Backend::Rocm, wanted).err();
        by_driver.or_else(|| open_backend(Backend::Rocm, wanted).err())
    };
    notice(choice, taken, Path::new(kfd::TOPOLOGY), why)
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
        gpu.arch,
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
}
