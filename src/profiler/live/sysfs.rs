//! AMD GPUs from the files of the amdgpu driver: no tool and no rights needed.

use std::fs;
use std::path::{Path, PathBuf};

use super::{GpuStatus, Source};
use crate::profiler::architecture::name_of_target_version;

const AMD: &str = "0x1002";

/// The AMD GPUs below a `/sys`.
#[derive(Clone, Debug)]
pub struct Sysfs {
    cards: Vec<Card>,
}

#[derive(Clone, Debug)]
struct Card {
    /// `…/class/drm/cardN/device`.
    device: PathBuf,
    id: String,
    name: Option<String>,
    /// `…/hwmon/hwmonN`.
    sensors: Option<PathBuf>,
}

impl Sysfs {
    pub fn of_this_machine() -> Self {
        Sysfs::below(Path::new("/sys"))
    }

    pub fn below(root: &Path) -> Self {
        let mut devices: Vec<PathBuf> = entries(&root.join("class/drm"))
            .into_iter()
            .filter(|path| is_card(path))
            .map(|path| path.join("device"))
            .filter(|device| text(&device.join("vendor")).as_deref() == Some(AMD))
            .collect();
        devices.sort();
        let known = gpus(root);
        let cards = devices.into_iter().map(|device| {
            let bus = fs::canonicalize(&device)
                .ok()
                .and_then(|real| Some(real.file_name()?.to_string_lossy().into_owned()));
            let name = text(&device.join("product_name")).filter(|name| !name.is_empty());
            let architecture = render_minor(&device).and_then(|minor| {
                let gpu = known.iter().find(|gpu| gpu.render_minor == Some(minor))?;
                Some(gpu.architecture.clone())
            });
            Card {
                id: bus.unwrap_or_else(|| device.display().to_string()),
                name: name.or(architecture),
                sensors: entries(&device.join("hwmon")).into_iter().next(),
                device,
            }
        });
        Sysfs {
            cards: cards.collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }
}

impl Source for Sysfs {
    fn read(&mut self) -> Vec<GpuStatus> {
        self.cards.iter().map(Card::status).collect()
    }

    fn describe(&self) -> &'static str {
        "amdgpu driver (sysfs)"
    }
}

impl Card {
    fn status(&self) -> GpuStatus {
        let number = |name: &str| -> Option<u64> { text(&self.device.join(name))?.parse().ok() };
        GpuStatus {
            id: self.id.clone(),
            name: self.name.clone(),
            busy: number("gpu_busy_percent").map(|percent| percent as f64),
            memory_used: number("mem_info_vram_used"),
            memory_total: number("mem_info_vram_total"),
            temperature: self.temperature(),
            power: self.power(),
        }
    }

    /// The junction is the hottest spot; cards without that sensor have an edge one.
    fn temperature(&self) -> Option<f64> {
        let sensors = self.sensors.as_ref()?;
        let mut edge = None;
        for number in 1..=3 {
            let value: Option<f64> = text(&sensors.join(format!("temp{number}_input")))
                .and_then(|text| text.parse().ok());
            let Some(millidegrees) = value else { continue };
            match text(&sensors.join(format!("temp{number}_label"))).as_deref() {
                Some("junction") => return Some(millidegrees / 1e3),
                Some("mem") => {}
                _ => edge = edge.or(Some(millidegrees / 1e3)),
            }
        }
        edge
    }

    fn power(&self) -> Option<f64> {
        let sensors = self.sensors.as_ref()?;
        ["power1_average", "power1_input"]
            .iter()
            .find_map(|name| text(&sensors.join(name))?.parse::<f64>().ok())
            .map(|microwatts| microwatts / 1e6)
    }
}

/// `card0`, not `card0-DP-1`.
fn is_card(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("card")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn render_minor(device: &Path) -> Option<u64> {
    entries(&device.join("drm")).iter().find_map(|path| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("renderD")?.parse().ok()
    })
}

/// A GPU as the kernel's compute driver describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// `gfx942`.
    pub architecture: String,
    pub compute_units: u64,
    pub wave_size: u64,
    pub lds_kib: u64,
    /// Number of its /dev/dri/renderD file.
    pub render_minor: Option<u64>,
}

/// Architecture of the first GPU that this machine's driver knows.
pub fn architecture_here() -> Option<String> {
    let gpus = gpus(Path::new("/sys"));
    gpus.into_iter().next().map(|gpu| gpu.architecture)
}

/// The GPUs of `class/kfd/kfd/topology/nodes` below a `/sys`, in the order of their numbers.
pub fn gpus(root: &Path) -> Vec<Topology> {
    topology(&root.join("class/kfd/kfd/topology/nodes"))
}

/// The GPUs among the nodes in `folder`.
pub fn topology(folder: &Path) -> Vec<Topology> {
    let mut nodes: Vec<(u64, PathBuf)> = entries(folder)
        .into_iter()
        .filter_map(|path| {
            let number = path.file_name()?.to_str()?.parse().ok()?;
            Some((number, path))
        })
        .collect();
    nodes.sort();
    nodes.iter().filter_map(|(_, path)| node(path)).collect()
}

/// `None` for a processor.
fn node(path: &Path) -> Option<Topology> {
    let properties = fs::read_to_string(path.join("properties")).ok()?;
    let property = |key: &str| -> Option<u64> {
        let mut lines = properties.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == key)?.1.trim().parse().ok()
    };
    let simds = property("simd_count").filter(|&count| count > 0)?;
    Some(Topology {
        architecture: name_of_target_version(property("gfx_target_version")?)?,
        compute_units: simds.checked_div(property("simd_per_cu")?)?,
        wave_size: property("wave_front_size")?,
        lds_kib: property("lds_size_in_kb")?,
        render_minor: property("drm_render_minor").filter(|&minor| minor > 0),
    })
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}
