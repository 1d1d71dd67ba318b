//! Shows which resources of an AMD GPU a learner's kernel takes: registers, local memory, waves, spills. A compiler
//! decides them, and nothing runs.

use anyhow::Result;

use super::exercise::Exercise;
use super::file::KernelFile;
use super::problem::PreparedCase;
use super::source::source;
use crate::compiled::assembly;
use crate::compiled::compiler::{Compiler, CompilerError};
use crate::compiled::facts::{ARCHITECTURES, KernelFacts};

/// Returns the resources of every kernel of `file` on every architecture. `None` means that no compiler on this machine
/// knows AMD GPUs.
///
/// # Errors
/// Fails if the kernel does not compile for one of them, or files cannot be written.
pub fn facts(exercise: &Exercise, file: &KernelFile) -> Result<Option<Vec<KernelFacts>>> {
    let compiler = match Compiler::find() {
        Ok(compiler) => compiler,
        Err(CompilerError::NoCompiler) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let source = source(file);
    let mut facts = vec![];
    for architecture in ARCHITECTURES {
        let wave = if architecture.starts_with("gfx9") {
            64
        } else {
            32
        };
        let problem = PreparedCase::shape(exercise, &exercise.bench, wave)?;
        let assembly = compiler.assembly(&exercise.name, &source, architecture)?;
        for launch in &problem.launches {
            let (resources, fixed) = assembly::resources(&assembly, launch.entry)?;
            facts.push(KernelFacts {
                architecture: architecture.to_owned(),
                operation: exercise.name.clone(),
                kernel: launch.entry.to_owned(),
                dtype: "f32".into(),
                case: problem.describe(),
                threads: launch.block.iter().product(),
                lds_bytes: fixed + launch.shared,
                resources,
                source: file.digest(),
            });
        }
    }
    Ok(Some(facts))
}
