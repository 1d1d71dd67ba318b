//! The parts of `kernels --arch` that emit kernels: sources, instructions, and new figures.

mod hiprtc;
mod objects;
mod texts;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};
use tinyllama_base::errln;
use tinyllama_contract::flags::UsageError;
use tinyllama_kernels::source::Target;
use tinyllama_workbench::compiled::compiler::Compiler;
use tinyllama_workbench::compiled::facts::Facts;

use super::KernelSelection;
use crate::cli::Exit;
use crate::emitted::candidates;

pub(super) use hiprtc::compile as hiprtc;

pub(super) fn sources(
    names: &[&str],
    kernel: &str,
    selection: &KernelSelection<'_>,
) -> Result<Exit> {
    texts::sources(&targets(names)?, kernel, selection)
}

pub(super) fn listings(
    names: &[&str],
    kernel: &str,
    selection: &KernelSelection<'_>,
) -> Result<Exit> {
    texts::listings(&amd_targets(names)?, kernel, selection)
}

pub(super) fn code_objects(
    names: &[&str],
    folder: &Path,
    selection: &KernelSelection<'_>,
) -> Result<Exit> {
    objects::write(&amd_targets(names)?, folder, selection)
}

/// Compiles the kernels with clang, for typical sizes or for all.
pub(super) fn compile(names: &[&str], all: bool) -> Result<Facts> {
    let targets = amd_targets(names)?;
    let compiler = Compiler::find()?;
    let progress = io::stderr().is_terminal();
    let mut kernels = Vec::new();
    for target in &targets {
        let candidates = candidates::candidates(target, all)?;
        let finished = AtomicUsize::new(0);
        let done = || {
            let finished = finished.fetch_add(1, Ordering::Relaxed) + 1;
            if progress {
                let all = candidates.len();
                eprint!("\rcompiling for {target}: {finished} of {all}");
            }
        };
        kernels.extend(candidates::compile(&compiler, target, &candidates, &done)?);
        if progress {
            errln!("");
        }
    }
    Ok(Facts {
        compiler: compiler.version.to_owned(),
        kernels,
    })
}

fn targets(names: &[&str]) -> Result<Vec<Target>> {
    let parse =
        |name: &&str| Target::parse(name).map_err(|error| UsageError(error.to_string()).into());
    names.iter().map(parse).collect()
}

fn amd_targets(names: &[&str]) -> Result<Vec<Target>> {
    let targets = targets(names)?;
    if let Some(target) = targets.iter().find(|target| !target.is_hip()) {
        bail!(UsageError(format!(
            "{target} is not an AMD architecture: only its source can be shown, with --source"
        )));
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_architectures_are_usage_errors() {
        assert_eq!(targets(&["gfx942", "sm_90"]).unwrap().len(), 2);
        for error in [targets(&["gfx1"]), amd_targets(&["gfx942", "sm_90"])] {
            let error = error.unwrap_err();
            assert!(error.is::<UsageError>(), "{error}");
        }
    }
}
