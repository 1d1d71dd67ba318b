//! The table of resources that kernels take on each architecture.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tinyllama_base::architecture;
use tinyllama_base::units::{count, or_not_reported};

use super::assembly::Resources;
use tinyllama_profile::model::{LaunchVariant, Profile};
use tinyllama_profile::show::occupancy::{Limiter, Occupancy, occupancy};

/// The architectures that `all` means, as examples for the others: CDNA 2 and 3 with waves of 64, RDNA 3 with waves of 32.
pub const ARCHITECTURES: [&str; 3] = ["gfx90a", "gfx942", "gfx1100"];

/// The architectures whose figures are part of the program. They include CDNA 4, RDNA 3.5 and 4.
pub const RECORDED_ARCHITECTURES: [&str; 7] = [
    "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201",
];

/// Bytes of local memory between two sizes that a remedy tries.
const LDS_STEP: u32 = 256;

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

    /// Formats registers, local memory, the waves that fit on a SIMD, and what would let more fit.
    pub fn describe(&self) -> String {
        let Resources {
            vgprs, vgpr_spills, ..
        } = self.resources;
        let spills = match vgpr_spills {
            0 => String::new(),
            spills => format!(", {spills} of them spilled"),
        };
        let more = self
            .remedy()
            .map_or(String::new(), |more| format!("; {more}"));
        format!(
            "{vgprs} vector registers{spills}, {} bytes of LDS: {} waves fit on a SIMD{more}",
            self.lds_bytes,
            self.waves_text()
        )
    }

    /// Formats `4 of 8`: the waves that fit on a SIMD.
    pub fn waves_text(&self) -> String {
        let most = architecture::find(&self.architecture).map(|one| one.max_waves_per_simd);
        let both = self.waves_per_simd().zip(most);
        or_not_reported(both.map(|(waves, most)| format!("{} of {most}", count(waves))))
    }

    /// Says how little of the limiting resource lets more waves fit. `None` if as many fit as there can be.
    pub fn remedy(&self) -> Option<String> {
        let fitting = |kernel: &KernelFacts| {
            kernel
                .occupancy()
                .map_or(0, |one| one.waves_per_compute_unit)
        };
        let now = self.occupancy()?;
        let waves = now.waves_per_compute_unit;
        if waves == now.max_waves_per_compute_unit {
            return None;
        }
        let mut other = self.clone();
        Some(match now.limiter {
            Limiter::LocalMemory => {
                let fewer = (0..self.lds_bytes / LDS_STEP)
                    .rev()
                    .map(|steps| steps * LDS_STEP);
                let enough = fewer.into_iter().find(|bytes| {
                    other.lds_bytes = *bytes;
                    fitting(&other) > waves
                });
                match enough {
                    Some(bytes) => format!("more with {bytes} bytes of LDS"),
                    None => "more with less LDS and fewer registers".into(),
                }
            }
            Limiter::VectorRegisters => {
                let enough = (1..self.resources.vgprs).rev().find(|vgprs| {
                    other.resources.vgprs = *vgprs;
                    fitting(&other) > waves
                });
                match enough {
                    Some(vgprs) => format!("more with {vgprs} vector registers"),
                    None => "more with fewer vector registers and less LDS".into(),
                }
            }
            Limiter::ScalarRegisters => "scalar registers limit".into(),
            Limiter::Barriers => "more with larger workgroups".into(),
            Limiter::WaveSlots => "more with workgroups that divide what fits".into(),
        })
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
