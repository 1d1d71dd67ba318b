//! The table of what kernels take on which architecture.

use std::collections::{HashMap, HashSet};

use clap::ValueEnum;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;
use tinyllama_kernels::source::{Launch, SourceError, Target, variants};

use super::assembly::{self, AssemblyError, Resources};
use super::compiler::{Compiler, CompilerError, HAND_WRITTEN};
use crate::device::driver::Precision;
use crate::model::Preset;
use crate::model::kernels::{TYPICAL, preset_sizes};
use crate::profiler::architecture;
use crate::profiler::model::{Profile, Variant};
use crate::profiler::show::occupancy::{Occupancy, occupancy};
use crate::targets::v4;

/// The architectures that stand for the others, which `all` means: CDNA 2 and 3 with waves of 64, RDNA 3 with waves of 32.
pub const ARCHITECTURES: [&str; 3] = ["gfx90a", "gfx942", "gfx1100"];

/// The architectures whose figures are part of the program: also RDNA 3.5 and 4.
pub const RECORDED_ARCHITECTURES: [&str; 6] = [
    "gfx90a", "gfx942", "gfx1100", "gfx1151", "gfx1200", "gfx1201",
];

const RECORDED: &str = include_str!("../../assets/kernel-resources.json");

#[derive(Debug, Error)]
pub enum FactsError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Compiler(#[from] CompilerError),
    #[error("`{kernel}` for {architecture}: {error}")]
    Assembly {
        kernel: String,
        architecture: String,
        error: AssemblyError,
    },
    #[error("the recorded table: {0}")]
    Recorded(#[from] serde_json::Error),
}

/// A compiled table: who compiled it, and one row a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Such as `clang 19.1.7`.
    pub compiler: String,
    pub kernels: Vec<KernelFacts>,
}

/// One kernel compiled for one architecture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelFacts {
    pub architecture: String,
    /// The operation it is part of.
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
    /// Waves a compute unit can hold at once, and what keeps more out.
    pub fn occupancy(&self) -> Option<Occupancy> {
        let architecture = architecture::find(&self.architecture)?;
        let mut names = Profile::default();
        let Resources { vgprs, agprs, .. } = self.resources;
        let launch = Variant {
            workgroup: Some([self.threads, 1, 1]),
            lds: Some(self.lds_bytes),
            // The compiler counts accumulation registers among the vector registers.
            vgpr: Some(vgprs.saturating_sub(agprs)),
            accum_vgpr: Some(agprs),
            sgpr: Some(self.resources.sgprs),
            ..Variant::unknown(names.name_id(&self.kernel))
        };
        occupancy(&launch, architecture)
    }

    /// Waves a SIMD can hold at once.
    pub fn waves_per_simd(&self) -> Option<f64> {
        let simds = architecture::find(&self.architecture)?.simds_per_compute_unit;
        let waves = self.occupancy()?.waves_per_compute_unit;
        Some(f64::from(waves) / f64::from(simds))
    }
}

/// A launch and the variant it comes from.
#[derive(Debug)]
pub struct Candidate {
    pub operation: &'static str,
    pub dtype: &'static str,
    pub case: String,
    pub launch: Launch,
}

impl Candidate {
    /// What the compiler gets.
    pub fn text(&self) -> String {
        let header = if self.operation == V4 {
            HAND_WRITTEN
        } else {
            ""
        };
        format!("{header}\n{}", self.launch.source)
    }
}

/// What V4's kernels are listed under.
pub const V4: &str = "v4";

/// The launches of all kernels for `target`, each once: of the typical variants, or of all. V4's come last.
pub fn candidates(target: &Target, all: bool) -> Result<Vec<Candidate>, SourceError> {
    let mut seen = HashSet::new();
    let mut candidates = Vec::new();
    let variants = variants(&preset_sizes(), &TYPICAL.to_string());
    for variant in variants.iter().filter(|variant| all || variant.typical) {
        // None where a device of this architecture refuses the block sizes.
        for launch in variant.launches(target)?.unwrap_or_default() {
            if seen.insert(launch.source.clone()) {
                candidates.push(Candidate {
                    operation: variant.kernel.name,
                    dtype: variant.dtype_name(),
                    case: variant.case.clone(),
                    launch,
                });
            }
        }
    }
    for preset in Preset::value_variants() {
        if !all && *preset != TYPICAL {
            continue;
        }
        for precision in Precision::ALL {
            // The one GPU with matrix cores that round f32.
            if precision == Precision::Tf32 && target.to_string() != "gfx942" {
                continue;
            }
            let launches = v4::launches(target, &preset.config(), precision);
            candidates.extend(launches.into_iter().map(|launch| Candidate {
                operation: V4,
                dtype: precision.name(),
                case: preset.to_string(),
                launch,
            }));
        }
    }
    Ok(candidates)
}

/// Compiles `candidates` for `target`, as many at a time as there are processors; `done` hears of every finished one.
pub fn compile(
    compiler: &Compiler,
    target: &Target,
    candidates: &[Candidate],
    done: &(dyn Fn() + Sync),
) -> Result<Vec<KernelFacts>, FactsError> {
    let architecture = target.to_string();
    // V4's kernels share a text, which is compiled once.
    let texts: Vec<&[Candidate]> = candidates
        .chunk_by(|one, next| one.launch.source == next.launch.source)
        .collect();
    let rows: Vec<Vec<KernelFacts>> = texts
        .par_iter()
        .map(|text| {
            let launch = &text[0].launch;
            let assembly = compiler.assembly(&launch.kernel, &text[0].text(), &architecture)?;
            let rows = text.iter().map(|candidate| {
                done();
                row(candidate, &assembly, &architecture)
            });
            rows.collect()
        })
        .collect::<Result<_, FactsError>>()?;
    Ok(rows.concat())
}

fn row(
    candidate: &Candidate,
    assembly: &str,
    architecture: &str,
) -> Result<KernelFacts, FactsError> {
    let launch = &candidate.launch;
    let read = assembly::resources(assembly, &launch.entry);
    let (resources, fixed_lds_bytes) = read.map_err(|error| FactsError::Assembly {
        kernel: launch.kernel.clone(),
        architecture: architecture.to_owned(),
        error,
    })?;
    Ok(KernelFacts {
        architecture: architecture.to_owned(),
        operation: candidate.operation.to_owned(),
        kernel: launch.kernel.clone(),
        dtype: candidate.dtype.to_owned(),
        case: candidate.case.clone(),
        threads: launch.threads(),
        lds_bytes: fixed_lds_bytes + launch.shared_memory_bytes as u32,
        resources,
        source: fingerprint(launch),
    })
}

/// What a launch's source is recognised by: its digest under the kernel's own name, because the entry's name ends in a number
/// that differs from build to build.
pub fn fingerprint(launch: &Launch) -> String {
    digest(&launch.source.replace(&launch.entry, &launch.kernel))
}

/// SHA-256 of a source with its variables numbered anew, in hexadecimal: the generator's own numbers vary from run to run.
fn digest(source: &str) -> String {
    format!("{:x}", Sha256::digest(renumbered(source)))
}

/// `source` with every `v` and number counted from 0 in the order of appearance.
fn renumbered(source: &str) -> String {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut result = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find(is_word) {
        let (between, from) = rest.split_at(start);
        let end = from.find(|c| !is_word(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        result += between;
        match word.strip_prefix('v').map(str::parse::<u64>) {
            Some(Ok(_)) => {
                let next = numbers.len();
                let number = *numbers.entry(word).or_insert(next);
                result += &format!("v{number}");
            }
            _ => result += word,
        }
        rest = after;
    }
    result + rest
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The table this program was built with: typical variants for [`RECORDED_ARCHITECTURES`].
pub fn recorded() -> Result<Facts, FactsError> {
    Ok(serde_json::from_str(RECORDED)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiler::show::occupancy::Limiter;

    #[test]
    fn numbers_of_variables_do_not_matter_and_everything_else_does() {
        let (a, b) = ("v7[0] = v12 + v7; vec2 v7_", "v3[0] = v99 + v3; vec2 v7_");
        assert_eq!(digest(a), digest(b));
        assert_ne!(digest(a), digest("v7[0] = v12 + v12; vec2 v7_"));
        assert_ne!(digest(a), digest("v7[1] = v12 + v7; vec2 v7_"));
    }

    /// The recorded table is of the kernels as they are now. If not, write it anew:
    /// `tinyllama-tutor kernels --arch gfx90a,gfx942,gfx1100,gfx1151,gfx1200,gfx1201 --compile --record
    /// assets/kernel-resources.json`.
    #[test]
    fn the_recorded_table_is_current() {
        let recorded = recorded().unwrap();
        for name in RECORDED_ARCHITECTURES {
            let target = Target::parse(name).unwrap();
            let now: Vec<String> = candidates(&target, false)
                .unwrap()
                .iter()
                .map(|candidate| fingerprint(&candidate.launch))
                .collect();
            let then: Vec<&String> = recorded
                .kernels
                .iter()
                .filter(|kernel| kernel.architecture == name)
                .map(|kernel| &kernel.source)
                .collect();
            assert_eq!(then, now.iter().collect::<Vec<_>>(), "{name}");
        }
    }

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
        // Without local memory, 88 registers of 512: five waves a SIMD.
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
