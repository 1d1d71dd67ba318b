//! AMD GPUs as the kernel driver describes them in sysfs. No ROCm library is needed.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folder in which the amdgpu driver publishes its topology.
pub const TOPOLOGY: &str = "/sys/class/kfd/kfd/topology";

/// Device file that every process opens to use an AMD GPU.
pub const DEVICE: &str = "/dev/kfd";

/// One compute node with a GPU. An MI300 in CPX mode appears as several nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KfdGpu {
    /// The node's number.
    pub node: u32,
    /// For example `gfx942`. `None` if the kernel is too old to say it.
    pub arch: Option<String>,
    /// The driver's own name, such as `aldebaran`. New drivers have none.
    pub name: Option<String>,
    pub compute_units: u32,
    /// Lanes of a wave: 64 on CDNA.
    pub wave_size: u32,
    pub waves_per_simd: u32,
    pub simds_per_compute_unit: u32,
    /// Bytes of local data share in a compute unit.
    pub lds_bytes: u32,
    /// `/dev/dri/renderD<minor>`. `None` if the kernel is too old to say it.
    pub render_minor: Option<u32>,
    /// Bytes of memory the GPU can use, from its render node or its node's memory banks. For a GPU inside a processor it
    /// is the larger of its reserved memory and the part of the machine's memory that it may use. `None` if sysfs has no
    /// figure.
    pub vram: Option<u64>,
}

impl KfdGpu {
    /// The architecture, or else the driver's name for the GPU.
    pub fn label(&self) -> &str {
        let known = self.arch.as_deref().or(self.name.as_deref());
        known.unwrap_or("AMD GPU of an unknown architecture")
    }
}

/// Reasons why a topology cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum KfdError {
    #[error("cannot read {path}: {source}")]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: `{property}` is missing or not a number")]
    Malformed {
        path: PathBuf,
        property: &'static str,
    },
}

/// Lists the GPUs under `topology` in the order of their nodes. The list is empty if the driver is not loaded.
///
/// # Errors
/// If a node that this process may read cannot be read, or lacks a property that every driver writes.
pub fn gpus(topology: &Path) -> Result<Vec<KfdGpu>, KfdError> {
    let nodes = nodes(topology)?.into_iter();
    nodes
        .filter_map(|node| read(topology, node).transpose())
        .collect()
}

/// Like [`gpus`], but skips nodes that cannot be read instead of failing.
pub fn readable_gpus(topology: &Path) -> Vec<KfdGpu> {
    let nodes = nodes(topology).unwrap_or_default().into_iter();
    let read = |node| read(topology, node).ok().flatten();
    nodes.filter_map(read).collect()
}

fn unreadable(path: &Path, source: std::io::Error) -> KfdError {
    KfdError::Unreadable {
        path: path.into(),
        source,
    }
}

/// Lists the node folders by their numbers, in order.
fn nodes(topology: &Path) -> Result<Vec<(u32, PathBuf)>, KfdError> {
    let folder = topology.join("nodes");
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let mut nodes = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|source| unreadable(&folder, source))? {
        let entry = entry.map_err(|source| unreadable(&folder, source))?;
        let name = entry.file_name();
        if let Some(node) = name.to_str().and_then(|name| name.parse().ok()) {
            nodes.push((node, entry.path()));
        }
    }
    nodes.sort();
    Ok(nodes)
}

/// Reads one node. Returns `None` for a processor, and for a node that this process may not read.
fn read(topology: &Path, (node, folder): (u32, PathBuf)) -> Result<Option<KfdGpu>, KfdError> {
    let path = folder.join("properties");
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let described = gpu(node, &path, &text)?;
            Ok(described.map(|gpu| KfdGpu {
                name: driver_name(&folder),
                vram: usable_memory(topology, &folder, &gpu),
                ..gpu
            }))
        }
        // A container sees all nodes but may only read those of its own GPUs. A node can also disappear in the
        // meantime.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::NotFound
            ) =>
        {
            Ok(None)
        }
        Err(source) => Err(unreadable(&path, source)),
    }
}

/// Returns the group that owns a device node if this process may not open it. Returns `None` if it may, or if the
/// node does not exist.
pub fn closed_to(node: &Path) -> Option<String> {
    let opened = OpenOptions::new().read(true).write(true).open(node);
    let refused = opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
    refused.then(|| owning_group(node).unwrap_or_else(|| "render".into()))
}

/// Name of the group that owns a file, from /etc/group.
fn owning_group(path: &Path) -> Option<String> {
    let id = std::fs::metadata(path).ok()?.gid().to_string();
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_string())
    })
}

/// Explains why no AMD GPU is visible if the driver is loaded but this process may not open it.
pub fn closed() -> Option<String> {
    let group = closed_to(Path::new(DEVICE))?;
    Some(format!(
        "{DEVICE}: you may not open it, it belongs to group `{group}`"
    ))
}

/// Parses a node's GPU; `None` for a node that is a CPU.
fn gpu(node: u32, path: &Path, text: &str) -> Result<Option<KfdGpu>, KfdError> {
    let properties: HashMap<&str, u64> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, value)| Some((name, value.trim().parse().ok()?)))
        .collect();
    let get = |property: &'static str| {
        properties
            .get(property)
            .and_then(|value| u32::try_from(*value).ok())
            .ok_or_else(|| KfdError::Malformed {
                path: path.into(),
                property,
            })
    };
    if get("simd_count")? == 0 {
        return Ok(None);
    }
    let simds_per_compute_unit = get("simd_per_cu")?;
    Ok(Some(KfdGpu {
        node,
        vram: None,
        name: None,
        // Old kernels do not say it.
        arch: get("gfx_target_version").ok().map(architecture),
        compute_units: get("simd_count")? / simds_per_compute_unit.max(1),
        wave_size: get("wave_front_size")?,
        waves_per_simd: get("max_waves_per_simd")?,
        simds_per_compute_unit,
        lds_bytes: get("lds_size_in_kb")?.saturating_mul(1024),
        render_minor: get("drm_render_minor").ok(),
    }))
}

/// The driver's name for the GPU of a node. Since it finds out about a GPU's blocks by itself, it says so instead.
fn driver_name(node: &Path) -> Option<String> {
    let name = std::fs::read_to_string(node.join("name")).ok()?;
    let name = name.trim();
    (!name.is_empty() && name != "ip discovery").then(|| name.to_owned())
}

/// Bytes of memory that a GPU can use. Only a GPU of this machine has a render node here.
fn usable_memory(topology: &Path, node: &Path, gpu: &KfdGpu) -> Option<u64> {
    let arch = gpu.arch.as_deref().unwrap_or_default();
    let here = gpu.render_minor.filter(|_| topology == Path::new(TOPOLOGY));
    let by_driver = here.and_then(|minor| {
        let device = format!("/sys/class/drm/renderD{minor}/device");
        memory(arch, Path::new(&device))
    });
    by_driver.or_else(|| banks(node).filter(|_| !IN_PROCESSORS.contains(&arch)))
}

/// Bytes in the banks of a node that are the GPU's own memory.
fn banks(node: &Path) -> Option<u64> {
    const OF_THE_GPU: [&str; 2] = ["heap_type 1", "heap_type 2"];
    let banks = std::fs::read_dir(node.join("mem_banks")).ok()?.flatten();
    let texts =
        banks.filter_map(|bank| std::fs::read_to_string(bank.path().join("properties")).ok());
    let sizes = texts.filter_map(|text| {
        let is_own = text.lines().any(|line| OF_THE_GPU.contains(&line.trim()));
        let mut sizes = text
            .lines()
            .filter_map(|line| line.strip_prefix("size_in_bytes "));
        sizes.next().filter(|_| is_own)?.trim().parse::<u64>().ok()
    });
    sizes.reduce(u64::saturating_add).filter(|bytes| *bytes > 0)
}

/// Turns a version into a name: 90402 is gfx942, and 90010 is gfx90a. Each part has two decimal digits, and the name
/// shows the last two parts as one hex digit each.
fn architecture(version: u32) -> String {
    let (major, minor, stepping) = (version / 10_000, version / 100 % 100, version % 100);
    format!("gfx{major}{minor:x}{stepping:x}")
}

/// GPUs that are part of a processor and share its memory, from LLVM's guide to AMD GPUs. Their reported memory is
/// what the firmware reserved. The kernel driver uses the machine's memory if that is larger. MI300A is not listed,
/// because all its memory belongs to the GPU.
const IN_PROCESSORS: [&str; 12] = [
    "gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1103", "gfx1150",
    "gfx1151", "gfx1152", "gfx1153",
];

/// Bytes of memory that a GPU can use; `device` is the folder of its render node.
fn memory(arch: &str, device: &Path) -> Option<u64> {
    let read = |name: &str| -> Option<u64> {
        let text = std::fs::read_to_string(device.join(name)).ok()?;
        text.trim().parse().ok()
    };
    let own = read("mem_info_vram_total");
    match IN_PROCESSORS.contains(&arch) {
        true => own.max(read("mem_info_gtt_total")),
        false => own,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn topology(nodes: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (node, properties) in nodes {
            let node = folder.path().join("nodes").join(node);
            std::fs::create_dir_all(&node).unwrap();
            std::fs::write(node.join("properties"), properties).unwrap();
        }
        folder
    }

    const CPU: &str = "cpu_cores_count 64\nsimd_count 0\n";
    const MI210: &str = "simd_count 416\nmax_waves_per_simd 8\nlds_size_in_kb 64\nwave_front_size 64\n\
        simd_per_cu 4\ngfx_target_version 90010\nunique_id 18019795206173380229\ndrm_render_minor 128\n";

    #[test]
    fn cpus_are_passed_over_and_gpus_described() {
        let folder = topology(&[("0", CPU), ("2", MI210)]);
        let gpus = gpus(folder.path()).unwrap();
        assert_eq!(gpus.len(), 1);
        assert_eq!(gpus[0].arch.as_deref(), Some("gfx90a"));
        assert_eq!((gpus[0].compute_units, gpus[0].wave_size), (104, 64));
    }

    #[test]
    fn a_node_that_may_not_be_read_hides_no_other() {
        let folder = topology(&[("1", MI210), ("2", MI210), ("3", MI210)]);
        let properties = |node| folder.path().join(format!("nodes/{node}/properties"));
        // One node disappears in the meantime, and another belongs to a different user.
        std::fs::remove_file(properties(1)).unwrap();
        let closed = properties(3);
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o0)).unwrap();
        let topology = folder.path().to_owned();
        let nodes = as_nobody(folder.path(), move || {
            let gpus = gpus(&topology).unwrap();
            gpus.iter().map(|gpu| gpu.node).collect::<Vec<_>>()
        });
        assert_eq!(nodes, [2]);
    }

    #[test]
    fn a_node_that_cannot_be_understood_is_told_or_left_out_and_hides_no_other() {
        let broken = MI210.replace("simd_per_cu", "no_such_thing");
        assert_ne!(broken, MI210);
        let folder = topology(&[("1", &broken), ("2", MI210)]);
        let told = gpus(folder.path()).unwrap_err().to_string();
        assert!(
            told.contains("nodes/1") && told.contains("simd_per_cu"),
            "{told}"
        );
        let readable = readable_gpus(folder.path());
        assert_eq!(readable.iter().map(|gpu| gpu.node).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_gpu_of_an_old_kernel_is_known_by_its_name_and_its_units() {
        let old = MI210
            .replace("gfx_target_version 90010\n", "")
            .replace("drm_render_minor 128\n", "");
        let folder = topology(&[("1", &old), ("2", MI210)]);
        let node = folder.path().join("nodes/1");
        std::fs::write(node.join("name"), "aldebaran\n").unwrap();
        std::fs::create_dir_all(node.join("mem_banks/0")).unwrap();
        let bank = "heap_type 1\nsize_in_bytes 68702699520\nflags 0\nwidth 4096\n";
        std::fs::write(node.join("mem_banks/0/properties"), bank).unwrap();
        let gpus = gpus(folder.path()).unwrap();
        assert_eq!(
            (gpus[0].label(), gpus[0].arch.as_deref()),
            ("aldebaran", None)
        );
        assert_eq!((gpus[0].compute_units, gpus[0].render_minor), (104, None));
        assert_eq!(gpus[0].vram, Some(68_702_699_520));
        assert_eq!(
            (gpus[1].label(), gpus[1].vram),
            ("gfx90a", None),
            "not this machine's memory"
        );
    }

    /// Calls `ask` on a thread without root's rights, because root may open everything.
    fn as_nobody<T: Send + 'static>(folder: &Path, ask: impl FnOnce() -> T + Send + 'static) -> T {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
        let asked = std::thread::spawn(|| {
            // SAFETY: the call takes a number. It changes the rights of this thread only, and the thread ends
            // afterwards.
            unsafe { libc::setfsuid(61_001) };
            ask()
        });
        asked.join().unwrap()
    }

    #[test]
    fn a_node_that_may_not_be_opened_names_its_group() {
        let folder = tempfile::tempdir().unwrap();
        let node = folder.path().join("kfd");
        std::fs::write(&node, "").unwrap();
        assert_eq!(closed_to(&node), None);
        std::fs::set_permissions(&node, PermissionsExt::from_mode(0o0)).unwrap();
        let (closed, none) = as_nobody(folder.path(), move || {
            (closed_to(&node), closed_to(&node.join("none")))
        });
        assert!(closed.is_some_and(|group| !group.is_empty()));
        assert_eq!(none, None);
    }

    #[test]
    fn a_processors_gpu_has_the_machines_memory_and_a_card_its_own() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [("vram", 512 << 20), ("gtt", 15_u64 << 30)] {
            let file = folder.path().join(format!("mem_info_{name}_total"));
            std::fs::write(file, format!("{bytes}\n")).unwrap();
        }
        assert_eq!(memory("gfx1151", folder.path()), Some(15 << 30));
        assert_eq!(memory("gfx1100", folder.path()), Some(512 << 20));
        assert_eq!(memory("gfx1151", Path::new("/none")), None);
    }

    #[test]
    fn versions_become_names() {
        assert_eq!(architecture(90402), "gfx942");
        assert_eq!(architecture(110000), "gfx1100");
        assert_eq!(architecture(90500), "gfx950");
    }

    #[test]
    fn no_driver_is_no_gpu_and_damage_is_named() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(gpus(empty.path()).unwrap(), vec![]);
        let damaged = topology(&[("1", "simd_count 416\nsimd_per_cu four\n")]);
        let message = gpus(damaged.path()).unwrap_err().to_string();
        assert!(
            message.contains("simd_per_cu") && message.contains("properties"),
            "{message}"
        );
    }
}
