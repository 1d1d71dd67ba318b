//! Reads AMD GPUs from the files of the amdgpu driver. This needs neither tools nor special rights.

use std::fs;
use std::path::{Path, PathBuf};

use super::{GpuStatus, GpuStatusSource};
use tinyllama_base::{inside, kfd};

const AMD: &str = "0x1002";

/// The AMD GPUs in a `/sys` folder.
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
    pub fn from_system() -> Self {
        Sysfs::below(Path::new("/sys"))
    }

    pub fn below(root: &Path) -> Self {
        let devices = entries(&root.join("class/drm"))
            .filter(|path| is_card(path))
            .map(|path| path.join("device"))
            .filter(|device| text(&device.join("vendor")).as_deref() == Some(AMD));
        let known = kfd::readable_gpus(&root.join("class/kfd/kfd/topology"));
        let cards = devices.map(|device| {
            let bus = fs::canonicalize(&device)
                .ok()
                .and_then(|real| Some(real.file_name()?.to_string_lossy().into_owned()));
            let name = text(&device.join("product_name")).filter(|name| !name.is_empty());
            let architecture = render_minor(&device).and_then(|minor| {
                let gpu = known.iter().find(|gpu| gpu.render_minor == Some(minor))?;
                Some(gpu.label().to_owned())
            });
            Card {
                id: bus.unwrap_or_else(|| device.display().to_string()),
                name: name.or(architecture),
                sensors: entries(&device.join("hwmon")).next(),
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

impl GpuStatusSource for Sysfs {
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
            temperature: self.temperature(),
            power: self.power(),
        }
    }

    /// The junction is the hottest spot. Cards without that sensor have one at the edge.
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
        let mut names = ["power1_average", "power1_input"].iter();
        let microwatts = names.find_map(|name| text(&sensors.join(name))?.parse::<f64>().ok());
        Some(microwatts? / 1e6)
    }
}

/// Accepts `card0`, but not `card0-DP-1`.
fn is_card(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("card")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn render_minor(device: &Path) -> Option<u32> {
    entries(&device.join("drm")).find_map(|path| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("renderD")?.parse().ok()
    })
}

/// Architecture of the first GPU that this machine's driver knows.
pub fn architecture_here() -> Option<String> {
    let gpus = kfd::readable_gpus(Path::new(kfd::TOPOLOGY));
    gpus.into_iter().find_map(|gpu| gpu.arch)
}

/// Entries sorted by name. Empty if the folder does not exist.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    inside(folder).unwrap_or_default().into_iter()
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}
