//! Finds out which devices, drivers and tools for the workshop this machine has, and which it lacks.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::adapter::Adapter;
use super::driver::Vendor;
use super::finding::{DeviceFinding, FindingStatus};
use super::{Backend, DeviceError, driver, is_compiled_in, library, unserved, vendor_of};
use crate::gpu;
use tinyllama_base::units::human_bytes;
use tinyllama_base::{kfd, process, rocm};

/// Looks for everything that concerns devices, without opening one.
pub fn examine() -> Vec<DeviceFinding> {
    let mut findings = Vec::new();
    for one in Backend::ALL {
        findings.extend(in_time("backend", one.name(), move || vec![backend(one)]));
    }
    findings.extend(in_time("adapter", "vulkan", adapters));
    findings.extend(kfd_devices(Path::new("/dev"), Path::new(kfd::TOPOLOGY)));
    findings.push(rocm_version(
        &rocm::roots(),
        driver::loaded_from(Vendor::Amd),
    ));
    findings.extend(TOOLS.lines().map(tool));
    findings
}

/// Runs `look` on another thread, because a driver may hang. The process's end also ends that thread.
fn in_time(
    topic: &'static str,
    name: &str,
    look: impl FnOnce() -> Vec<DeviceFinding> + Send + 'static,
) -> Vec<DeviceFinding> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(look()));
    receiver.recv_timeout(TIMEOUT).unwrap_or_else(|error| {
        let (status, detail) = match error {
            RecvTimeoutError::Timeout => (FindingStatus::Hangs, no_answer()),
            RecvTimeoutError::Disconnected => (FindingStatus::Broken, "the check failed".into()),
        };
        let remedy = "The driver hangs: look for the fault in dmesg, then restart the machine. Until then use --backend cpu.";
        vec![DeviceFinding::ok(topic, name, detail).needs(status, remedy)]
    })
}

fn no_answer() -> String {
    format!("gave no answer in {} s", TIMEOUT.as_secs())
}

fn backend(backend: Backend) -> DeviceFinding {
    let topic = "backend";
    match devices(backend) {
        Ok(detail) => DeviceFinding::ok(topic, backend.name(), detail),
        Err(error) => DeviceFinding::ok(topic, backend.name(), error.to_string())
            .needs(FindingStatus::Absent, error.remedy()),
    }
}

/// Describes the driver and its devices. V4 loads the driver itself, so it can use them in a build without this backend.
fn devices(backend: Backend) -> Result<String, DeviceError> {
    if backend == Backend::Cpu {
        return Ok(super::cpu_facts().device);
    }
    let built = is_compiled_in(backend);
    if built {
        library::check(backend)?;
    }
    let other = DeviceError::NotCompiledIn { backend };
    let found = String::from("library found");
    let known = vendor_of(backend).and_then(|vendor| driver::inventory(vendor).ok());
    let Some(known) = known else {
        return if built { Ok(found) } else { Err(other) };
    };
    known.devices.iter().try_for_each(unserved::check)?;
    let version = known.driver.unwrap_or(found);
    match itertools::join(known.devices.iter().map(|device| &device.name), ", ") {
        none if none.is_empty() && built => Err(DeviceError::NoDevice {
            backend,
            detail: Some(version),
        }),
        none if none.is_empty() => Err(other),
        names if built => Ok(format!("{version}: {names}")),
        names => Ok(format!(
            "{version}: {names}; v4 runs on it, the others need a build with --features {}",
            backend.name()
        )),
    }
}

fn adapters() -> Vec<DeviceFinding> {
    let backend = Backend::Vulkan;
    let adapters = gpu::adapters();
    if adapters.is_empty() {
        let (adapters, error) = match is_compiled_in(backend) {
            true => {
                let detail = None;
                (
                    "no Vulkan adapter",
                    DeviceError::NoDevice { backend, detail },
                )
            }
            false => (
                "not looked for: the vulkan backend is not part of this build",
                DeviceError::NotCompiledIn { backend },
            ),
        };
        let finding = DeviceFinding::ok("adapter", "vulkan", adapters);
        return vec![finding.needs(FindingStatus::Absent, error.remedy())];
    }
    adapters.into_iter().map(adapter).collect()
}

/// Describes an adapter. Software adapters get another topic: no run takes one by default, so they do not count as adapters.
fn adapter(found: Adapter) -> DeviceFinding {
    let (topic, taken) = match found.software {
        true => ("software adapter", " (used only when named with --device)"),
        false => ("adapter", ""),
    };
    DeviceFinding::ok(topic, found.name, format!("{}{taken}", found.driver))
}

/// `/dev/kfd`, the render nodes and the topology behind them.
fn kfd_devices(dev: &Path, topology: &Path) -> Vec<DeviceFinding> {
    let kfd_device = dev.join("kfd");
    let mut findings = vec![access("kfd", &kfd_device)];
    match kfd::gpus(topology) {
        Err(error) => findings.push(
            DeviceFinding::ok("kfd", "topology", error.to_string()).needs(
                FindingStatus::Broken,
                "The driver describes a GPU in a way that is not known here. See `dmesg | grep amdgpu`; `rocminfo` lists what ROCm finds.",
            ),
        ),
        Ok(gpus) => {
            for gpu in gpus {
                let vram = gpu.vram.map_or("VRAM not reported".into(), human_bytes);
                let (arch, units, wave) = (gpu.label(), gpu.compute_units, gpu.wave_size);
                let lds = human_bytes(u64::from(gpu.lds_bytes));
                findings.push(DeviceFinding::ok(
                    "kfd",
                    format!("node {}", gpu.node),
                    format!("{arch}, {units} compute units, wave {wave}, {lds} LDS, {vram}"),
                ));
                let node = gpu.render_minor.map(|minor| format!("dri/renderD{minor}"));
                findings.extend(node.map(|node| access("kfd", &dev.join(node))));
            }
        }
    }
    findings
}

/// Checks whether a device node can be opened for reading and writing, and names a missing group.
fn access(topic: &'static str, path: &Path) -> DeviceFinding {
    let name = path.display().to_string();
    let error = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => return DeviceFinding::ok(topic, name, "can be opened"),
        Err(error) => error,
    };
    let (status, detail, remedy) = match error.kind() {
        ErrorKind::NotFound => (
            FindingStatus::Absent,
            "not there".to_owned(),
            "On a machine with an AMD GPU, load the amdgpu driver; in a container, pass --device=/dev/kfd --device=/dev/dri.".to_owned(),
        ),
        ErrorKind::PermissionDenied => {
            let group = kfd::closed_to(path).unwrap_or_else(|| "render".into());
            let remedy = format!("`sudo usermod -aG {group} $USER`, then log in again.");
            let detail = format!("no permission: it belongs to group `{group}`");
            (FindingStatus::Broken, detail, remedy)
        }
        _ => {
            let remedy = "See `dmesg | grep amdgpu`.".to_owned();
            (FindingStatus::Broken, error.to_string(), remedy)
        }
    };
    DeviceFinding::ok(topic, name, detail).needs(status, remedy)
}

/// Finds the version of the installed ROCm. A distribution's library comes without an installation; then its path is named.
fn rocm_version(roots: &[PathBuf], loaded: Option<PathBuf>) -> DeviceFinding {
    let installed = roots.iter().find_map(|root| {
        let version = std::fs::read_to_string(root.join(".info").join("version"));
        Some(format!("{} in {}", version.ok()?.trim(), root.display()))
    });
    let packaged = || {
        let file = loaded?;
        Some(format!("a distribution's: {}", file.display()))
    };
    if let Some(detail) = installed.or_else(packaged) {
        return DeviceFinding::ok("rocm", "ROCm", detail);
    }
    let looked = itertools::join(roots.iter().map(|root| root.display()), ", ");
    DeviceFinding::ok("rocm", "ROCm", format!("no installation in {looked}")).needs(
        FindingStatus::Absent,
        "For AMD GPUs install ROCm, or set ROCM_PATH to its folder; on a cluster try `module load rocm`.",
    )
}

/// Patch numbers of HIP that the bindings of a build with the feature `rocm` know.
const BINDINGS: [&str; 11] = [
    "41134", "42131", "42133", "42134", "43482", "43483", "43484", "51831", "52802", "53211",
    "60850",
];

/// Adds to the output of `hipconfig` that a build which asks it would fail.
fn with_bindings(version: String) -> String {
    let patch = version.split(['.', '-']).nth(2).unwrap_or_default();
    match BINDINGS.contains(&patch) {
        true => version,
        false => format!(
            "{version}; a build with --features rocm has no bindings of that number: put .ci/hipconfig in front of PATH"
        ),
    }
}

/// Each line has a command that shows that a tool is installed, and the remedy if it is not.
const TOOLS: &str = "\
hipconfig --version | The rocm backend asks it for its include folder and launches nothing without it: package hipcc or hip-dev, on PATH.
rocprofv3 --version | Package rocprofiler-sdk, part of ROCm since 6.2, or amdrocm-profiler since 7.13.
rocprof-sys-run --version | Package rocprofiler-systems, part of ROCm since 6.3, or amdrocm-profiler since 7.13.
rocprof-compute --version | Package rocprofiler-compute, part of ROCm since 6.3, or amdrocm-profiler since 7.13.
amd-smi version | Package amd-smi-lib.
rocm-smi --version | Package rocm-smi-lib; amd-smi replaces it.
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | Comes with the NVIDIA driver.";

/// A hanging command, for example on a broken driver, must not hang the doctor.
const TIMEOUT: Duration = Duration::from_secs(10);

fn tool(line: &str) -> DeviceFinding {
    let topic = "tool";
    let (command, remedy) = line.split_once(" | ").unwrap_or((line, ""));
    let args: Vec<&str> = command.split(' ').collect();
    let name = args[0];
    // The tutor looks for profilers in the folders of ROCm's packages; all other tools have to be on the PATH.
    let found = rocm::locate(name).filter(|_| name.starts_with("rocprof"));
    match first_line(&found.unwrap_or_else(|| name.into()), &args[1..]) {
        Ok(version) if name == "hipconfig" => {
            DeviceFinding::ok(topic, name, with_bindings(version))
        }
        Ok(version) => DeviceFinding::ok(topic, name, version),
        Err(detail) if detail.is_empty() => {
            DeviceFinding::ok(topic, name, "not on PATH").needs(FindingStatus::Absent, remedy)
        }
        Err(detail) => DeviceFinding::ok(topic, name, detail).needs(FindingStatus::Broken, remedy),
    }
}

/// Returns the first line with text that a command prints; an empty error if it is not installed.
fn first_line(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let asked = process::ask(program, arguments, TIMEOUT);
    let asked = asked.map_err(|error| match error.kind() {
        ErrorKind::NotFound => String::new(),
        _ => error.to_string(),
    })?;
    let (status, text) = asked.ok_or_else(no_answer)?;
    // rocprof-compute begins with a line of dashes.
    let says = |line: &&str| line.contains(|c: char| c.is_alphanumeric());
    let line = text.lines().map(str::trim).find(says);
    match line {
        Some(line) if status.success() => Ok(line.to_string()),
        Some(line) => Err(format!("{status} ({line})")),
        None => Err(format!("{status} and no output")),
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DeviceKind;

    use super::*;

    #[test]
    fn the_cpu_backend_is_found() {
        assert_eq!(backend(Backend::Cpu).status, FindingStatus::Ok);
    }

    #[test]
    fn a_program_that_speaks_vulkan_is_no_adapter_that_runs_take() {
        let found = |kind| {
            adapter(Adapter {
                name: "one".into(),
                driver: "driver".into(),
                software: kind == DeviceKind::Cpu,
                kind,
            })
        };
        assert_eq!(found(DeviceKind::DiscreteGpu(0)).topic, "adapter");
        let software = found(DeviceKind::Cpu);
        assert_eq!(software.topic, "software adapter");
        assert!(software.detail.contains("--device"), "{software:?}");
    }

    #[test]
    fn a_missing_node_is_absent_and_says_how_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let findings = kfd_devices(folder.path(), folder.path());
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].status, FindingStatus::Absent);
        assert!(
            findings[0]
                .remedy
                .as_ref()
                .is_some_and(|text| text.contains("/dev/kfd"))
        );
    }

    #[test]
    fn rocm_of_a_distribution_is_not_absent() {
        let root = tempfile::tempdir().unwrap();
        let roots = [root.path().join("opt"), root.path().join("opt/core")];
        let library = PathBuf::from("/usr/lib/libamdhip64.so.6");
        let packaged = rocm_version(&roots, Some(library.clone()));
        assert_eq!(packaged.status, FindingStatus::Ok);
        assert!(packaged.detail.contains("/usr/lib/libamdhip64.so.6"));
        let absent = rocm_version(&roots, None);
        assert_eq!(absent.status, FindingStatus::Absent);
        std::fs::create_dir_all(roots[1].join(".info")).unwrap();
        std::fs::write(roots[1].join(".info/version"), "10.2.0\n").unwrap();
        let installed = rocm_version(&roots, Some(library));
        assert!(installed.detail.starts_with("10.2.0 in "), "{installed:?}");
    }

    #[test]
    fn a_hip_without_bindings_says_how_to_build() {
        let known = "6.4.43484-0123456".to_owned();
        assert_eq!(with_bindings(known.clone()), known);
        for unknown in ["6.2.41133-0", "7.2.26015-0", "7.15.26333-0"] {
            let version = with_bindings(unknown.into());
            assert!(
                version.starts_with(unknown) && version.contains("PATH"),
                "{version}"
            );
        }
    }

    #[test]
    fn a_tool_that_fails_is_told_from_one_that_is_missing() {
        let ask = |program: &str, args: &[&str]| first_line(Path::new(program), args);
        assert_eq!(ask("no-such-tool-here", &[]), Err(String::new()));
        assert_eq!(ask("echo", &["1.2.3"]), Ok("1.2.3".into()));
        let rule = "----\nrocprofiler-compute version: 3.2.0 (release)\n----";
        let version = "rocprofiler-compute version: 3.2.0 (release)";
        assert_eq!(ask("echo", &[rule]), Ok(version.into()));
        let failed = ask("sh", &["-c", "echo broken; exit 4"]).unwrap_err();
        assert!(
            failed.contains("broken") && failed.contains('4'),
            "{failed}"
        );
    }
}
