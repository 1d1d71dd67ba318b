//! Data sheets of GPUs from `assets/gpus.yaml`. Their figures are always labelled "data sheet".

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

const TABLE: &str = include_str!("../../assets/gpus.yaml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DataSheets {
    sources: BTreeMap<String, String>,
    gpus: Vec<DataSheet>,
}

/// A GPU as its maker describes it. Figures without a known source are absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSheet {
    pub name: String,
    /// For example `gfx942` or `sm_90`.
    pub architecture: String,
    #[serde(skip_serializing)]
    matches: Vec<String>,
    #[serde(default, skip_serializing)]
    unless: Vec<String>,
    /// Compute units or streaming multiprocessors.
    pub units: u32,
    /// Lanes of a wave or warp.
    pub wave: u32,
    /// GiB.
    pub memory: u32,
    /// GB/s.
    pub bandwidth: f64,
    /// KiB of LDS or shared memory per workgroup, at most.
    pub local_memory: u32,
    /// TFLOP/s of the vector units.
    #[serde(default)]
    pub fp32: Option<f64>,
    /// TFLOP/s of the matrix units, without sparsity.
    #[serde(default)]
    pub tf32: Option<f64>,
    #[serde(default)]
    pub fp16: Option<f64>,
    #[serde(default)]
    pub bf16: Option<f64>,
    /// GB/s to other GPUs of the host, over all links together, in one direction.
    #[serde(default, skip_serializing)]
    pub link: Option<f64>,
    /// Sources of the figures.
    pub sources: Vec<String>,
}

impl DataSheet {
    /// FLOP/s of a number type: `f32`, `tf32`, `f16` or `bf16`.
    pub fn flops_per_s(&self, dtype: &str) -> Option<f64> {
        let tera = match dtype {
            "f32" => self.fp32,
            "tf32" => self.tf32,
            "f16" => self.fp16,
            "bf16" => self.bf16,
            _ => None,
        };
        tera.map(|tera| tera * 1e12)
    }

    pub fn bytes_per_s(&self) -> f64 {
        self.bandwidth * 1e9
    }

    fn describes(&self, words: &[String]) -> bool {
        let in_a_row = |text: &String| {
            let wanted = name_words(text);
            !wanted.is_empty() && words.windows(wanted.len()).any(|some| some == wanted)
        };
        self.matches.iter().any(in_a_row) && !self.unless.iter().any(in_a_row)
    }
}

/// Finds the data sheet by the name that the driver gives the device. Returns `None` if the table does not have it.
pub fn find(device: &str) -> Option<DataSheet> {
    let words = name_words(device);
    let table = table()?;
    let found = table.gpus.iter().find(|gpu| gpu.describes(&words));
    let mut found = found?.clone();
    for source in &mut found.sources {
        if let Some(text) = table.sources.get(source) {
            source.clone_from(text);
        }
    }
    Some(found)
}

/// The table is part of the program, and a test checks its form.
fn table() -> Option<&'static DataSheets> {
    static READ: LazyLock<Option<DataSheets>> = LazyLock::new(|| serde_yaml::from_str(TABLE).ok());
    READ.as_ref()
}

fn name_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_every_figure_is_sensible_and_has_a_source() {
        let table: DataSheets = serde_yaml::from_str(TABLE).unwrap();
        assert!(table.gpus.len() > 15);
        for gpu in &table.gpus {
            assert!(!gpu.sources.is_empty(), "{}", gpu.name);
            for source in &gpu.sources {
                assert!(table.sources.contains_key(source), "{}: {source}", gpu.name);
            }
            assert!((250.0..10_000.0).contains(&gpu.bandwidth), "{}", gpu.name);
            let rates = [gpu.fp32, gpu.tf32, gpu.fp16, gpu.bf16];
            for rate in rates.iter().flatten() {
                assert!((10.0..3_000.0).contains(rate), "{}", gpu.name);
            }
            // Matrix units are never slower than the vector units.
            if let (Some(vector), Some(matrix)) = (gpu.fp32, gpu.fp16) {
                assert!(matrix >= vector, "{}", gpu.name);
            }
            assert!(matches!(gpu.wave, 32 | 64), "{}", gpu.name);
            assert!(
                [63, 64, 99, 160, 163, 227].contains(&gpu.local_memory),
                "{}",
                gpu.name
            );
        }
    }

    #[test]
    fn devices_are_found_as_drivers_name_them_and_no_other_product_is_taken_for_them() {
        for (device, name) in [
            ("AMD Instinct MI300X", "AMD Instinct MI300X"),
            (
                "AMD Radeon RX 7900 XTX (RADV NAVI31)",
                "AMD Radeon RX 7900 XTX",
            ),
            ("AMD Radeon RX 7900 XT", "AMD Radeon RX 7900 XT"),
            (
                "AMD Instinct MI250X / MI250",
                "AMD Instinct MI250 (one of two dies)",
            ),
            ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM"),
            ("NVIDIA A100-SXM4-80GB", "NVIDIA A100 SXM 80 GB"),
            ("NVIDIA H200", "NVIDIA H200 SXM"),
            ("AMD Instinct MI308X", "AMD Instinct MI308X"),
            ("AMD Radeon PRO W7900", "AMD Radeon PRO W7900"),
            ("AMD Radeon AI PRO R9700", "AMD Radeon AI PRO R9700"),
            ("AMD Radeon RX 7800 XT", "AMD Radeon RX 7800 XT"),
            ("AMD Radeon RX 9060 XT", "AMD Radeon RX 9060 XT"),
            ("Radeon 8060S Graphics", "AMD Radeon 8060S (Strix Halo)"),
            ("AMD Radeon RX 9070", "AMD Radeon RX 9070"),
            ("AMD Radeon RX 9070 XT", "AMD Radeon RX 9070 XT"),
        ] {
            assert_eq!(
                find(device).map(|gpu| gpu.name).as_deref(),
                Some(name),
                "{device}"
            );
        }
        for device in [
            "NVIDIA H100 PCIe",
            "NVIDIA H200 NVL",
            "AMD Radeon RX 7900M",
            "AMD EPYC (2 cores)",
            "",
            "NVIDIA GeForce RTX 4090 Laptop GPU",
        ] {
            assert_eq!(find(device), None, "{device}");
        }
    }

    /// Without both rates, the roofline of such a GPU has no ridge.
    #[test]
    fn instinct_gpus_have_both_rates() {
        for (device, vector, matrix) in [
            ("AMD Instinct MI350X", 144.2e12, 2306.9e12),
            ("AMD Instinct MI355X", 157.3e12, 2516.6e12),
        ] {
            let sheet = find(device).unwrap();
            assert_eq!(sheet.flops_per_s("f32"), Some(vector));
            assert_eq!(sheet.flops_per_s("bf16"), Some(matrix));
        }
    }

    #[test]
    fn rates_are_in_plain_units() {
        let sheet = find("AMD Instinct MI300X").unwrap();
        assert_eq!(sheet.flops_per_s("bf16"), Some(1307.4e12));
        assert_eq!(sheet.flops_per_s("tf32"), Some(653.7e12));
        let without = find("AMD Instinct MI210").unwrap();
        assert_eq!(without.flops_per_s("tf32"), None);
        assert_eq!(sheet.bytes_per_s(), 5.3e12);
        assert!(
            sheet.sources[0].contains("product pages"),
            "{:?}",
            sheet.sources
        );
    }
}
