//! The table of resources that kernels take on each architecture.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tinyllama_base::architecture;

use super::assembly::Resources;
use tinyllama_profile::model::{LaunchVariant, Profile};
use tinyllama_profile::show::occupancy::{Occupancy, occupancy};

/// The architectures that `all` means, as examples for the others: CDNA 2 and 3 with waves of 64, RDNA 3 with waves of 32.
pub const ARCHITECTURES: [&str; 3] = ["gfx90a", "gfx942", "gfx1100"];

/// The architectures whose figures are part of the program. They include CDNA 4, RDNA 3.5 and 4.
pub const RECORDED_ARCHITECTURES: [&str; 7] = [
    "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201",
];

const RECORDED: &str = include_str!("../../../assets/kernel-resources.json");

/// A compiled table: the compiler of each architecture and one row per kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// By architecture, for example `clang 19.1.7`.
    pub compilers: BTreeMap<String, String>,
    pub kernels: Vec<KernelFacts>,
}

/// One kernel compiled for one architecture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelFacts {
    pub architecture: String,
    /// The operation that the kernel belongs to.
    pub operation: String,
    pub kernel: String,
    pub dtype: String,
    /// Sizes and block sizes.
    pub case: String,
    /// Threads of a workgroup.
    pub threads: u32,
    /// Bytes of local memory a workgroup.
    pub lds_bytes: u32,
    #[serde(flatten)]
    pub resources: Resources,
    /// SHA-256 of the HIP C++.
    pub source: String,
}

impl KernelFacts {
    /// Waves that a compute unit can hold at once, and the resource that limits them.
    pub fn occupancy(&self) -> Option<Occupancy> {
        let architecture = architecture::find(&self.architecture)?;
        let mut names = Profile::default();
        let Resources { vgprs, agprs, .. } = self.resources;
        let launch = LaunchVariant {
            workgroup: Some([self.threads, 1, 1]),
            lds: Some(self.lds_bytes),
            // The compiler counts accumulation registers among the vector registers.
            vgpr: Some(vgprs.saturating_sub(agprs)),
            accum_vgpr: Some(agprs),
            sgpr: Some(self.resources.sgprs),
            ..LaunchVariant::unknown(names.name_id(&self.kernel))
        };
        occupancy(&launch, architecture)
    }

    /// Waves that a SIMD can hold at once.
    pub fn waves_per_simd(&self) -> Option<f64> {
        let simds = architecture::find(&self.architecture)?.simds_per_compute_unit;
        let waves = self.occupancy()?.waves_per_compute_unit;
        Some(f64::from(waves) / f64::from(simds))
    }
}

/// Reads the table that was built into this program: typical variants for [`RECORDED_ARCHITECTURES`].
///
/// # Errors
/// Fails if the built-in table is not valid JSON of this form.
pub fn recorded() -> Result<Facts, serde_json::Error> {
    serde_json::from_str(RECORDED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_profile::show::occupancy::Limiter;

    #[test]
    fn occupancy_counts_what_the_launch_adds() {
        let kernel = KernelFacts {
            architecture: "gfx942".into(),
            operation: "flash_attention".into(),
            kernel: "flash_attention_forward".into(),
            dtype: "f32".into(),
            case: "small".into(),
            threads: 128,
            lds_bytes: 32 << 10,
            resources: Resources {
                target: "amdgcn-amd-amdhsa--gfx942".into(),
                wave_size: 64,
                vgprs: 84,
                agprs: 0,
                sgprs: 54,
                vgpr_spills: 0,
                sgpr_spills: 0,
                scratch_bytes: 0,
            },
            source: String::new(),
        };
        // Two workgroups of two waves fit into 64 KiB, on four SIMDs.
        let occupancy = kernel.occupancy().unwrap();
        assert_eq!(occupancy.limiter, Limiter::LocalMemory);
        assert_eq!(occupancy.waves_per_compute_unit, 4);
        assert_eq!(kernel.waves_per_simd(), Some(1.0));
        // Without local memory, 88 registers of 512 allow five waves a SIMD.
        let registers = KernelFacts {
            lds_bytes: 0,
            ..kernel
        };
        assert_eq!(
            registers.occupancy().unwrap().limiter,
            Limiter::VectorRegisters
        );
        assert_eq!(registers.waves_per_simd(), Some(5.0));
    }
}
