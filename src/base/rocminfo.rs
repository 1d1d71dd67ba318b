//! Reads the output of `rocminfo`, which lists the devices of a machine with ROCm.

use schemars::JsonSchema;
use serde::Serialize;

/// A GPU of a machine. Figures are null where the source does not have them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MachineGpu {
    /// The number of its node in the driver's topology.
    pub node: Option<u32>,
    /// For example gfx942.
    pub arch: Option<String>,
    pub product: Option<String>,
    pub compute_units: Option<u32>,
    pub simds_per_compute_unit: Option<u32>,
    pub wave_size: Option<u32>,
    pub waves_per_simd: Option<u32>,
    /// Bytes of local data share in a compute unit.
    pub lds_bytes: Option<u64>,
    /// Bytes of the GPU's own memory.
    pub memory_bytes: Option<u64>,
    pub max_clock_mhz: Option<u32>,
}

/// What rocminfo says of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RocmInfo {
    /// The version of the HSA runtime, not of ROCm.
    pub runtime: Option<String>,
    pub processors: Vec<String>,
    pub gpus: Vec<MachineGpu>,
}

impl RocmInfo {
    /// Parses the text. Returns `None` if it lists no device.
    pub fn parse(text: &str) -> Option<Self> {
        let (head, agents) = text.split_once("HSA Agents")?;
        let mut info = RocmInfo {
            runtime: field(head, "Runtime Version:").map(str::to_owned),
            ..RocmInfo::default()
        };
        for agent in agents.split("\nAgent ").skip(1) {
            let name = field(agent, "Name:").unwrap_or_default();
            match field(agent, "Device Type:") {
                Some("GPU") => info.gpus.push(gpu(name, agent)),
                Some("CPU") => info.processors.push(name.to_owned()),
                _ => {}
            }
        }
        let is_empty = info.gpus.is_empty() && info.processors.is_empty();
        (!is_empty).then_some(info)
    }
}

fn gpu(name: &str, agent: &str) -> MachineGpu {
    let number = |label| whole(field(agent, label)?);
    let small = |label| number(label).and_then(|number| u32::try_from(number).ok());
    let product = field(agent, "Marketing Name:").filter(|product| !product.is_empty());
    let simds = small("SIMDs per CU:");
    let waves = small("Max Waves Per CU:").zip(simds);
    MachineGpu {
        node: small("Node:"),
        arch: Some(name.to_owned()),
        product: product.map(str::to_owned),
        compute_units: small("Compute Unit:"),
        simds_per_compute_unit: simds,
        wave_size: small("Wavefront Size:"),
        waves_per_simd: waves.and_then(|(waves, simds)| waves.checked_div(simds)),
        lds_bytes: pool(agent, "GROUP"),
        memory_bytes: pool(agent, "GLOBAL; FLAGS: COARSE GRAINED"),
        max_clock_mhz: small("Max Clock Freq. (MHz):"),
    }
}

/// Bytes of the first pool of memory in a segment.
fn pool(agent: &str, segment: &str) -> Option<u64> {
    let pools = agent.split("Segment:").skip(1);
    let mut sizes = pools.filter(|pool| pool.trim_start().starts_with(segment));
    let size = field(sizes.next()?, "Size:")?;
    let kibibytes = size.ends_with("KB").then(|| whole(size)).flatten()?;
    kibibytes.checked_mul(1024)
}

/// The text behind the first `label` that begins a line.
fn field<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let mut lines = text.lines().map(str::trim);
    lines
        .find_map(|line| line.strip_prefix(label))
        .map(str::trim)
}

/// The number in `32(0x20)`, `96` and `65520(0xfff0) KB`.
fn whole(text: &str) -> Option<u64> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ROCk module is loaded\n=====================\nHSA System Attributes\n=====================\n\
        Runtime Version:         1.18\n==========\nHSA Agents\n==========\n*******\nAgent 1\n*******\n  \
        Name:                    A processor\n  Node:                    0\n  Device Type:             CPU\n  \
        Compute Unit:            16\n  Pool Info:\n    Pool 1\n      \
        Segment:                 GLOBAL; FLAGS: COARSE GRAINED\n      Size:                    4096(0x1000) KB\n\
        *******\nAgent 2\n*******\n  Name:                    gfx1100\n  \
        Marketing Name:          A graphics card\n  Node:                    1\n  Device Type:             GPU\n  \
        Max Clock Freq. (MHz):   2526\n  Compute Unit:            96\n  SIMDs per CU:            2\n  \
        Wavefront Size:          32(0x20)\n  Max Waves Per CU:        32(0x20)\n  Pool Info:\n    Pool 1\n      \
        Segment:                 GLOBAL; FLAGS: COARSE GRAINED\n      Size:                    1024(0x400) KB\n    Pool 2\n      \
        Segment:                 GROUP\n      Size:                    64(0x40) KB\n  ISA Info:\n    ISA 1\n      \
        Name:                    amdgcn-amd-amdhsa--gfx1100\n*** Done ***\n";

    #[test]
    fn devices_are_told_apart_and_described() {
        let info = RocmInfo::parse(TEXT).unwrap();
        assert_eq!(info.runtime.as_deref(), Some("1.18"));
        assert_eq!(info.processors, ["A processor"]);
        let expected = MachineGpu {
            node: Some(1),
            arch: Some("gfx1100".into()),
            product: Some("A graphics card".into()),
            compute_units: Some(96),
            simds_per_compute_unit: Some(2),
            wave_size: Some(32),
            waves_per_simd: Some(16),
            lds_bytes: Some(64 << 10),
            memory_bytes: Some(1 << 20),
            max_clock_mhz: Some(2526),
        };
        assert_eq!(info.gpus, [expected]);
    }

    #[test]
    fn what_an_older_version_does_not_print_is_not_known() {
        let older = TEXT.replace("  Wavefront Size:          32(0x20)\n", "");
        assert_ne!(older, TEXT);
        assert_eq!(RocmInfo::parse(&older).unwrap().gpus[0].wave_size, None);
        assert_eq!(
            RocmInfo::parse("ROCk module is NOT loaded, possibly no GPU devices\n"),
            None
        );
        assert_eq!(RocmInfo::parse("HSA Agents\n"), None);
    }
}
