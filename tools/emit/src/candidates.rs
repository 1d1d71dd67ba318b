//! Emitting every kernel for an architecture and compiling it.

use std::collections::{HashMap, HashSet};

use clap::ValueEnum;
use rayon::prelude::*;
use thiserror::Error;
use tinyllama_base::checksum::sha256_hex;
use tinyllama_contract::model::Preset;
use tinyllama_contract::model::kernels::{TYPICAL, preset_sizes};
use tinyllama_engine::device::driver::{GemmPrecision, Properties};
use tinyllama_engine::targets::v4::{self, OfflineKernel};
use tinyllama_workbench::compiled::assembly::{self, AssemblyError};
use tinyllama_workbench::compiled::compiler::{Compiler, CompilerError, HAND_WRITTEN};
use tinyllama_workbench::compiled::facts::KernelFacts;

use crate::selection::V4;
use crate::source::{SourceError, SourceLaunch, Target, variants};

#[derive(Debug, Error)]
pub enum CompileError {
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
}

/// A launch and the variant it comes from.
#[derive(Debug)]
pub struct EmittedLaunch {
    pub operation: &'static str,
    pub dtype: &'static str,
    pub case: String,
    pub launch: SourceLaunch,
}

impl EmittedLaunch {
    /// Returns the source that the compiler gets.
    pub fn text(&self) -> String {
        let header = if self.operation == V4 {
            HAND_WRITTEN
        } else {
            ""
        };
        format!("{header}\n{}", self.launch.source)
    }
}

/// Lists the launches of all kernels for `target` without repeats, V4's last. `all` takes every variant, not only typical ones.
///
/// # Errors
/// Fails if a kernel has no source for this architecture.
pub fn candidates(target: &Target, all: bool) -> Result<Vec<EmittedLaunch>, SourceError> {
    let mut seen = HashSet::new();
    let mut candidates = Vec::new();
    let variants = variants(&preset_sizes(), &TYPICAL.to_string());
    let is_wanted = |typical: bool| target.has_emitted_source() && (all || typical);
    for variant in variants.iter().filter(|one| is_wanted(one.typical)) {
        // `None` means that a device of this architecture refuses the block sizes.
        for launch in variant.launches(target)?.unwrap_or_default() {
            if seen.insert(launch.source.clone()) {
                candidates.push(EmittedLaunch {
                    operation: variant.kernel().name,
                    dtype: variant.dtype_name(),
                    case: variant.case.clone(),
                    launch,
                });
            }
        }
    }
    // V4's for NVIDIA are compiled by nvrtc alone.
    if !target.is_hip() {
        return Ok(candidates);
    }
    let properties = offline(target);
    for preset in Preset::value_variants() {
        if !all && *preset != TYPICAL {
            continue;
        }
        for precision in GemmPrecision::ALL {
            // gfx942 is the only GPU whose matrix cores round f32 operands.
            if precision == GemmPrecision::Tf32 && target.to_string() != "gfx942" {
                continue;
            }
            let kernels = v4::offline_kernels(&properties, &preset.config(), precision);
            candidates.extend(kernels.into_iter().map(|kernel| EmittedLaunch {
                operation: V4,
                dtype: precision.name(),
                case: preset.to_string(),
                launch: launch(kernel),
            }));
        }
    }
    Ok(candidates)
}

/// The properties that an AMD device would report, as far as sources depend on them.
pub fn offline(target: &Target) -> Properties {
    let units = target.compute_units().unwrap_or(1);
    Properties::offline(&target.to_string(), target.plane_size(), units)
}

/// Describes one of V4's kernels as a launch of one block.
fn launch(kernel: OfflineKernel) -> SourceLaunch {
    SourceLaunch {
        kernel: format!("v4_{}", kernel.entry),
        entry: kernel.entry.to_owned(),
        source: kernel.source,
        cube_count: [1; 3],
        cube_dim: [kernel.threads, 1, 1],
        shared_memory_bytes: kernel.shared_bytes,
        arguments: vec![],
    }
}

/// Compiles `candidates` for `target`, one per processor at a time. `done` is called for each finished one.
///
/// # Errors
/// The first error of the compiler.
pub fn compile(
    compiler: &Compiler,
    target: &Target,
    candidates: &[EmittedLaunch],
    done: &(dyn Fn() + Sync),
) -> Result<Vec<KernelFacts>, CompileError> {
    let architecture = target.to_string();
    // V4's kernels share one source, which is compiled once.
    let texts: Vec<&[EmittedLaunch]> = candidates
        .chunk_by(|one, next| one.launch.source == next.launch.source)
        .collect();
    let rows: Vec<Vec<KernelFacts>> = texts
        .par_iter()
        .map(|text| {
            let launch = &text[0].launch;
            let assembly =
                compiler.assembly(&launch.kernel, &text[0].text(), &architecture, &[])?;
            let rows = text.iter().map(|candidate| {
                done();
                row(candidate, &assembly, &architecture)
            });
            rows.collect()
        })
        .collect::<Result<_, CompileError>>()?;
    Ok(rows.concat())
}

fn row(
    candidate: &EmittedLaunch,
    assembly: &str,
    architecture: &str,
) -> Result<KernelFacts, CompileError> {
    let launch = &candidate.launch;
    let read = assembly::resources(assembly, &launch.entry);
    let (resources, fixed_lds_bytes) = read.map_err(|error| CompileError::Assembly {
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

/// Identifies a launch's source by the SHA-256 of its normalized text, in hexadecimal.
pub fn fingerprint(launch: &SourceLaunch) -> String {
    sha256_hex([normalized(launch)])
}

/// Returns a launch's source without what differs between builds and runs. The entry's name ends in a number, so the
/// kernel's name replaces it. Variables are numbered anew.
pub fn normalized(launch: &SourceLaunch) -> String {
    renumbered(&launch.source.replace(&launch.entry, &launch.kernel))
}

/// Renumbers every `v` variable and number of `source` from 0, in order of appearance.
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

#[cfg(test)]
mod tests {
    use tinyllama_workbench::compiled::facts::{RECORDED_ARCHITECTURES, recorded};

    use super::*;

    #[test]
    fn numbers_of_variables_do_not_matter_and_everything_else_does() {
        let (a, b) = ("v7[0] = v12 + v7; vec2 v7_", "v3[0] = v99 + v3; vec2 v7_");
        assert_eq!(renumbered(a), renumbered(b));
        assert_ne!(renumbered(a), renumbered("v7[0] = v12 + v12; vec2 v7_"));
        assert_ne!(renumbered(a), renumbered("v7[1] = v12 + v7; vec2 v7_"));
    }

    /// The recorded table has to describe the current kernels. If it does not, `record` writes it again.
    #[test]
    fn the_recorded_table_is_current() {
        let recorded = recorded().unwrap();
        for name in RECORDED_ARCHITECTURES {
            let target = Target::parse(name).unwrap();
            let now = candidates(&target, false).unwrap();
            let now = now.iter().map(|candidate| {
                let kernel = candidate.launch.kernel.as_str();
                let of = [
                    candidate.operation,
                    kernel,
                    candidate.dtype,
                    candidate.case.as_str(),
                ];
                (of.join(" "), fingerprint(&candidate.launch))
            });
            let then = recorded.kernels.iter();
            let then = then.filter(|kernel| kernel.architecture == name);
            let then = then.map(|kernel| {
                let of = [
                    &kernel.operation,
                    &kernel.kernel,
                    &kernel.dtype,
                    &kernel.case,
                ];
                (of.map(String::as_str).join(" "), kernel.source.clone())
            });
            let (now, then): (Vec<_>, Vec<_>) = (now.collect(), then.collect());
            let changed: Vec<&String> = now
                .iter()
                .filter(|row| !then.contains(row))
                .chain(then.iter().filter(|row| !now.contains(row)))
                .map(|(kernel, _)| kernel)
                .collect();
            assert!(changed.is_empty(), "{name}: {changed:?}");
            assert_eq!(now, then, "the order on {name}");
        }
    }
}
