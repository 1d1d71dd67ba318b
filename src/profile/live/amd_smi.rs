//! Reads AMD GPUs through `amd-smi` or the older `rocm-smi`, if the driver's files are not available.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{GpuStatus, GpuStatusSource};
use tinyllama_base::die_with_parent;
use tinyllama_base::rocm::locate;

pub struct AmdSmi {
    program: PathBuf,
    is_rocm_smi: bool,
}

impl AmdSmi {
    pub fn find() -> Option<Self> {
        let found = |name, is_rocm_smi| {
            locate(name).map(|program| AmdSmi {
                program,
                is_rocm_smi,
            })
        };
        found("amd-smi", false).or_else(|| found("rocm-smi", true))
    }
}

impl GpuStatusSource for AmdSmi {
    fn read(&mut self) -> Vec<GpuStatus> {
        let words = match self.is_rocm_smi {
            true => "--showproductname --showuse --showmeminfo vram --showtemp --showpower --json",
            false => "metric --json",
        };
        let mut command = Command::new(&self.program);
        command
            .args(words.split(' '))
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        die_with_parent(&mut command, libc::SIGKILL);
        let output = command.output();
        // The programs may fail for one of several figures and still print the others.
        let text = output.map(|output| output.stdout).unwrap_or_default();
        let Some(document) = document(&text) else {
            return Vec::new();
        };
        match self.is_rocm_smi {
            true => rocm_smi(&document),
            false => amd_smi(&document),
        }
    }

    fn describe(&self) -> &'static str {
        ["amd-smi", "rocm-smi"][usize::from(self.is_rocm_smi)]
    }
}

/// Parses the document. A line of text may come first, such as a warning that a GPU sleeps.
fn document(output: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(output);
    let mut starts = text.split_inclusive('\n').scan(0, |end, line| {
        let start = *end;
        *end += line.len();
        Some((start, line))
    });
    let (start, _) = starts.find(|(_, line)| line.trim_start().starts_with(['{', '[']))?;
    serde_json::from_str(&text[start..]).ok()
}

/// Parses `amd-smi metric --json`: a list, since 2025 inside `gpu_data`. A figure is `{"value": 3, "unit": "W"}` or
/// `"N/A"`.
pub fn amd_smi(document: &Value) -> Vec<GpuStatus> {
    let gpus = document.get("gpu_data").unwrap_or(document).as_array();
    gpus.into_iter().flatten().map(amd_smi_gpu).collect()
}

fn amd_smi_gpu(gpu: &Value) -> GpuStatus {
    let leaf = |path: &[&str]| path.iter().try_fold(gpu, |value, key| value.get(key));
    let figure = |path: &[&str]| number(leaf(path)?.get("value")?);
    let bytes = |path: &[&str]| {
        let scale = match leaf(path)?.get("unit")?.as_str()? {
            "B" => 1.0,
            "KB" => 1024.0,
            "MB" => 1024.0 * 1024.0,
            "GB" => 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        };
        Some((figure(path)? * scale) as u64)
    };
    GpuStatus {
        id: gpu.get("gpu").map(Value::to_string).unwrap_or_default(),
        name: None,
        busy: figure(&["usage", "gfx_activity"]),
        memory_used: bytes(&["mem_usage", "used_vram"]),
        memory_total: bytes(&["mem_usage", "total_vram"]),
        temperature: figure(&["temperature", "hotspot"])
            .or_else(|| figure(&["temperature", "edge"])),
        power: figure(&["power", "socket_power"]),
    }
}

/// Parses `rocm-smi … --json`: an object with a `cardN` for each GPU. Every value is a string, and its name varies by
/// version.
pub fn rocm_smi(document: &Value) -> Vec<GpuStatus> {
    let cards = document.as_object();
    cards
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with("card"))
        .map(|(key, card)| rocm_smi_card(key, card))
        .collect()
}

fn rocm_smi_card(key: &str, card: &Value) -> GpuStatus {
    let named = |starts: &[&str]| {
        let fields = card.as_object()?;
        let of = |start: &&str| {
            let mut fields = fields.iter();
            fields.find(|(name, _)| name.to_lowercase().starts_with(start))
        };
        starts.iter().find_map(of).map(|(_, value)| value)
    };
    let figure = |starts: &[&str]| number(named(starts)?);
    GpuStatus {
        id: key.to_owned(),
        name: named(&["card series"]).and_then(|name| Some(name.as_str()?.to_owned())),
        busy: figure(&["gpu use (%)"]),
        memory_used: figure(&["vram total used memory"]).map(|bytes| bytes as u64),
        memory_total: figure(&["vram total memory"]).map(|bytes| bytes as u64),
        temperature: figure(&["temperature (sensor junction)", "temperature (sensor edge)"]),
        power: figure(&[
            "average graphics package power",
            "current socket graphics package power",
        ]),
    }
}

/// Reads a number, also from text. `None` for `N/A`.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok()?,
        value => value.as_f64()?,
    };
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The documents follow amd-smi's source, because no complete genuine one was available.
    #[test]
    fn both_shapes_of_amd_smi_are_read() {
        let gpu = json!({
            "gpu": 0,
            "usage": {"gfx_activity": {"value": 2, "unit": "%"}},
            "power": {"socket_power": {"value": 140, "unit": "W"}},
            "temperature": {"edge": "N/A", "hotspot": {"value": 41, "unit": "C"}},
            "mem_usage": {"total_vram": {"value": 16368, "unit": "MB"}, "used_vram": {"value": 14569, "unit": "MB"}}
        });
        for document in [json!([gpu]), json!({"gpu_data": [gpu]})] {
            let [status] = &amd_smi(&document)[..] else {
                panic!("{document}")
            };
            assert_eq!(
                (status.busy, status.power, status.temperature),
                (Some(2.0), Some(140.0), Some(41.0))
            );
            assert_eq!(status.memory_total, Some(16368 << 20));
        }
        assert!(amd_smi(&json!("nothing")).is_empty());
        let idle = amd_smi(&json!([{"gpu": 0, "usage": "N/A"}]));
        assert_eq!(idle[0].busy, None);
    }

    #[test]
    fn a_line_of_text_before_the_document_is_skipped() {
        let warned = "WARNING: AMD GPU device(s) is/are in a low-power state.\n\n{\"card0\": {\"GPU use (%)\": \"7\"}}\n";
        let statuses = rocm_smi(&document(warned.as_bytes()).unwrap());
        assert_eq!(statuses[0].busy, Some(7.0));
        assert_eq!(document(b"WARNING: nothing follows\n"), None);
        assert_eq!(document(b"[]"), Some(json!([])));
    }

    #[test]
    fn rocm_smi_writes_everything_as_text() {
        let document = json!({
            "card0": {
                "VRAM Total Memory (B)": "68702699520",
                "VRAM Total Used Memory (B)": "10960896",
                "GPU use (%)": "12",
                "Temperature (Sensor edge) (C)": "45.0",
                "Temperature (Sensor junction) (C)": "48.0",
                "Current Socket Graphics Package Power (W)": "110.0",
                "Card Series": "AMD INSTINCT MI250X"
            },
            "system": {"Driver version": "6.8"}
        });
        let [status] = &rocm_smi(&document)[..] else {
            panic!()
        };
        assert_eq!(
            (status.busy, status.power, status.temperature),
            (Some(12.0), Some(110.0), Some(48.0))
        );
        assert_eq!(status.memory_used, Some(10_960_896));
        assert_eq!(status.name.as_deref(), Some("AMD INSTINCT MI250X"));
    }
}
