//! What this machine has for the workshop, and what it lacks.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Backend, DeviceError, kfd, library, vulkan};
use crate::base::units::human_bytes;

/// How one thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// There and usable.
    Ok,
    /// Not there; the workshop goes on without it.
    Absent,
    /// There and not usable.
    Broken,
}

/// One thing that was looked for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    pub topic: &'static str,
    pub name: String,
    pub status: Status,
    pub detail: String,
    /// What to do; null where nothing is needed.
    pub remedy: Option<String>,
}

impl Finding {
    fn ok(topic: &'static str, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Finding {
            topic,
            name: name.into(),
            status: Status::Ok,
            detail: detail.into(),
            remedy: None,
        }
    }

    fn missing(
        topic: &'static str,
        name: impl Into<String>,
        status: Status,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Finding {
            topic,
            name: name.into(),
            status,
            detail: detail.into(),
            remedy: Some(remedy.into()),
        }
    }
}

/// Looks for everything that has to do with devices. Opens none of them.
pub fn examine() -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(Backend::ALL.map(backend));
    findings.extend(adapters());
    findings.extend(kfd_devices(Path::new("/dev"), Path::new(kfd::TOPOLOGY)));
    findings.push(rocm_version(Path::new("/opt/rocm")));
    findings.extend(TOOLS.iter().map(tool));
    findings
}

fn backend(backend: Backend) -> Finding {
    let topic = "backend";
    if !backend.compiled_in() {
        let error = DeviceError::NotCompiledIn { backend };
        return Finding::missing(
            topic,
            backend.name(),
            Status::Absent,
            error.to_string(),
            error.remedy(),
        );
    }
    match library::check(backend) {
        Ok(()) if backend == Backend::Cpu => Finding::ok(topic, "cpu", super::cpu::open().name),
        Ok(()) => {
            let version = library::driver_version(backend);
            let version = version.unwrap_or_else(|| "library found".into());
            match library::device_names(backend) {
                Some(names) if names.is_empty() => {
                    let error = DeviceError::NoDevice {
                        backend,
                        detail: Some(version),
                    };
                    Finding::missing(
                        topic,
                        backend.name(),
                        Status::Absent,
                        error.to_string(),
                        error.remedy(),
                    )
                }
                Some(names) => {
                    let detail = format!("{version}: {}", names.join(", "));
                    Finding::ok(topic, backend.name(), detail)
                }
                None => Finding::ok(topic, backend.name(), version),
            }
        }
        Err(error) => Finding::missing(
            topic,
            backend.name(),
            Status::Absent,
            error.to_string(),
            error.remedy(),
        ),
    }
}

fn adapters() -> Vec<Finding> {
    let adapters = vulkan::adapters();
    if adapters.is_empty() {
        let error = DeviceError::NoDevice {
            backend: Backend::Vulkan,
            detail: None,
        };
        return vec![Finding::missing(
            "adapter",
            "vulkan",
            Status::Absent,
            "no Vulkan adapter",
            error.remedy(),
        )];
    }
    adapters
        .into_iter()
        .map(|adapter| {
            let detail = if adapter.software {
                format!(
                    "{} (software; used only when named with --device)",
                    adapter.driver
                )
            } else {
                adapter.driver
            };
            Finding::ok("adapter", adapter.name, detail)
        })
        .collect()
}

/// `/dev/kfd`, the render nodes and the topology behind them.
fn kfd_devices(dev: &Path, topology: &Path) -> Vec<Finding> {
    let kfd_device = dev.join("kfd");
    let mut findings = vec![access("kfd", &kfd_device)];
    match kfd::gpus(topology) {
        Err(error) => findings.push(Finding::missing(
            "kfd",
            "topology",
            Status::Broken,
            error.to_string(),
            "Driver and kernel may disagree; reinstall amdgpu-dkms.",
        )),
        Ok(gpus) => {
            for gpu in gpus {
                let vram = gpu.vram.map_or("VRAM not reported".into(), human_bytes);
                findings.push(Finding::ok(
                    "kfd",
                    format!("node {}", gpu.node),
                    format!(
                        "{}, {} compute units, wave {}, {} LDS, {vram}",
                        gpu.arch,
                        gpu.compute_units,
                        gpu.wave_size,
                        human_bytes(u64::from(gpu.lds_bytes))
                    ),
                ));
                let node = format!("dri/renderD{}", gpu.render_minor);
                findings.push(access("kfd", &dev.join(node)));
            }
        }
    }
    findings
}

/// Whether a device node can be opened for reading and writing, and which group is missing.
fn access(topic: &'static str, path: &Path) -> Finding {
    let name = path.display().to_string();
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => Finding::ok(topic, name, "can be opened"),
        Err(error) if error.kind() == ErrorKind::NotFound => Finding::missing(
            topic,
            name,
            Status::Absent,
            "not there",
            "On a machine with an AMD GPU, load the amdgpu driver; in a container, pass --device=/dev/kfd --device=/dev/dri.",
        ),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let group = owning_group(path).unwrap_or_else(|| "render".into());
            Finding::missing(
                topic,
                name,
                Status::Broken,
                format!("no permission: it belongs to group `{group}`"),
                format!("`sudo usermod -aG {group} $USER`, then log in again."),
            )
        }
        Err(error) => Finding::missing(
            topic,
            name,
            Status::Broken,
            error.to_string(),
            "See `dmesg | grep amdgpu`.",
        ),
    }
}

/// Name of the group a file belongs to, from /etc/group.
fn owning_group(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let id = std::fs::metadata(path).ok()?.gid().to_string();
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_string())
    })
}

fn rocm_version(default: &Path) -> Finding {
    let root = std::env::var_os("ROCM_PATH").map_or_else(|| default.to_path_buf(), PathBuf::from);
    let file = root.join(".info").join("version");
    match std::fs::read_to_string(&file) {
        Ok(version) => Finding::ok(
            "rocm",
            "ROCm",
            format!("{} in {}", version.trim(), root.display()),
        ),
        Err(_) => Finding::missing(
            "rocm",
            "ROCm",
            Status::Absent,
            format!("no installation at {}", root.display()),
            "For AMD GPUs install ROCm, or set ROCM_PATH to where it is; on a cluster try `module load rocm`.",
        ),
    }
}

struct Tool {
    name: &'static str,
    arguments: &'static [&'static str],
    remedy: &'static str,
}

const TOOLS: [Tool; 7] = [
    Tool {
        name: "hipconfig",
        arguments: &["--version"],
        remedy: "The rocm backend asks it for its include folder and launches nothing without it: package hipcc or hip-dev, on PATH.",
    },
    Tool {
        name: "rocprofv3",
        arguments: &["--version"],
        remedy: "Package rocprofiler-sdk, part of ROCm since 6.2.",
    },
    Tool {
        name: "rocprof-sys-run",
        arguments: &["--version"],
        remedy: "Package rocprofiler-systems, part of ROCm since 6.3.",
    },
    Tool {
        name: "rocprof-compute",
        arguments: &["--version"],
        remedy: "Package rocprofiler-compute, part of ROCm since 6.3.",
    },
    Tool {
        name: "amd-smi",
        arguments: &["version"],
        remedy: "Package amd-smi-lib.",
    },
    Tool {
        name: "rocm-smi",
        arguments: &["--version"],
        remedy: "Package rocm-smi-lib; amd-smi replaces it.",
    },
    Tool {
        name: "nvidia-smi",
        arguments: &["--query-gpu=name,driver_version", "--format=csv,noheader"],
        remedy: "Comes with the NVIDIA driver.",
    },
];

/// A tool that hangs, on a broken driver for one, must not hang the doctor.
const TOOL_TIMEOUT: Duration = Duration::from_secs(10);

fn tool(tool: &Tool) -> Finding {
    let topic = "tool";
    match first_line(OsStr::new(tool.name), tool.arguments) {
        Ok(line) => Finding::ok(topic, tool.name, line),
        Err(detail) if detail.is_empty() => {
            Finding::missing(topic, tool.name, Status::Absent, "not on PATH", tool.remedy)
        }
        Err(detail) => Finding::missing(topic, tool.name, Status::Broken, detail, tool.remedy),
    }
}

/// First line a command prints; an empty error where it is not installed.
fn first_line(program: &OsStr, arguments: &[&str]) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => String::new(),
            _ => error.to_string(),
        })?;
    let started = Instant::now();
    while child
        .try_wait()
        .map_err(|error| error.to_string())?
        .is_none()
    {
        if started.elapsed() > TOOL_TIMEOUT {
            // Nothing more can be done about a process that ignores this.
            drop(child.kill());
            drop(child.wait());
            return Err(format!("gave no answer in {} s", TOOL_TIMEOUT.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    match line {
        Some(line) if output.status.success() => Ok(line.to_string()),
        Some(line) => Err(format!("{} ({line})", output.status)),
        None => Err(format!("{} and no output", output.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_backend_is_found() {
        assert_eq!(backend(Backend::Cpu).status, Status::Ok);
    }

    #[test]
    fn a_missing_node_is_absent_and_says_how_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let findings = kfd_devices(folder.path(), folder.path());
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].status, Status::Absent);
        assert!(
            findings[0]
                .remedy
                .as_ref()
                .is_some_and(|text| text.contains("/dev/kfd"))
        );
    }

    #[test]
    fn a_tool_that_fails_is_told_from_one_that_is_missing() {
        assert_eq!(
            first_line(OsStr::new("no-such-tool-here"), &[]),
            Err(String::new())
        );
        assert_eq!(
            first_line(OsStr::new("echo"), &["1.2.3"]),
            Ok("1.2.3".into())
        );
        let failed = first_line(OsStr::new("sh"), &["-c", "echo broken; exit 4"]).unwrap_err();
        assert!(
            failed.contains("broken") && failed.contains('4'),
            "{failed}"
        );
    }
}
