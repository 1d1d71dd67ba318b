//! Puts a learner's kernel into a real training step, for the exercises that V4 has a place for.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result, anyhow, bail};
use itertools::Itertools as _;

use super::gpu;
use tinyllama_contract::flags::UsageError;
use tinyllama_contract::{Arrays, KernelInPlace};
use tinyllama_workbench::compiled::compiler::Compiler;
use tinyllama_workbench::exercise::{Exercise, NamedSizes, exercises};
use tinyllama_workbench::file::KernelFile;
use tinyllama_workbench::judge::{self, Built};
use tinyllama_workbench::problem::PreparedCase;
use tinyllama_workbench::{KernelFinding, text};

/// The architecture of the emulated kernel, and its lanes of a wavefront.
const ARCHITECTURE: &str = "gfx942";
const WAVE: u32 = 64;

/// Prepares the kernel of a file so that V4 can call it.
///
/// # Errors
/// Fails if V4 has no place for the exercise, or the file has no such kernel.
pub fn kernel(operation: &str, path: &Path) -> Result<KernelInPlace> {
    let with_place = exercises()?.iter().filter(|one| one.v4.is_some());
    let mut found = with_place.clone().filter(|one| one.name == operation);
    let Some((exercise, replaces)) = found.find_map(|one| Some((one, one.v4.clone()?))) else {
        let places = with_place.map(|one| &one.name).join(", ");
        bail!(UsageError(format!(
            "--kernel {operation}: v4 has places for {places}"
        )));
    };
    let file = KernelFile::read(path).map_err(|error| UsageError(format!("{error:#}")))?;
    let refuse = |why: KernelFinding| UsageError(format!("{}: {}", path.display(), why.message));
    let file = file.map_err(refuse)?;
    if let Some(why) = file.refused() {
        bail!(refuse(why));
    }
    let Some(launch) = exercise.launches.first() else {
        bail!("{operation} has no launch");
    };
    Ok(KernelInPlace {
        file: path.to_owned(),
        operation: operation.to_owned(),
        replaces,
        entry: launch.entry.clone(),
        source: gpu::source(&file),
        shape: Arc::new(|sizes| {
            let sizes = named(sizes);
            let wave = sizes.get("wave").map_or(WAVE, |wave| *wave as u32);
            PreparedCase::launch_shape(exercise, sizes, wave)
        }),
        on_host: Arc::new(on_host(exercise, file)),
    })
}

/// Name and value of an argument that is a number.
type ScalarArgument<'a> = (&'a str, f32);

/// Returns the kernel as machine code of an AMD GPU, which the emulator executes. It is compiled at the first call.
fn on_host(
    exercise: &'static Exercise,
    file: KernelFile,
) -> impl Fn(&[(&str, usize)], Option<ScalarArgument<'_>>, Arrays) -> Result<Arrays> {
    let compiled = OnceLock::new();
    move |sizes, number, arrays| {
        let build = || build(exercise, &file).map_err(|error| format!("{error:#}"));
        let built = compiled.get_or_init(build).as_ref();
        let built = built.map_err(|error| anyhow!("{error}"))?;
        let wave = u32::try_from(built.program.wave_size)?;
        let mut problem = PreparedCase::salted(exercise, &named(sizes), wave, None)?;
        if let Some((name, value)) = number {
            problem.set_number(name, value);
        }
        let made = execute(built, problem, arrays, &file);
        made.with_context(|| format!("your {} in the model, in the emulator", exercise.name))
    }
}

fn named(sizes: &[(&str, usize)]) -> NamedSizes {
    let sizes = sizes.iter();
    sizes
        .map(|(name, size)| ((*name).to_owned(), *size as f64))
        .collect()
}

fn build(exercise: &Exercise, file: &KernelFile) -> Result<Built> {
    let built = judge::build(&Compiler::find()?, exercise, file, ARCHITECTURE)?;
    built.map_err(|_| anyhow!("it does not compile"))
}

/// Executes one launch, with the checks and limits of a case.
fn execute(
    built: &Built,
    mut problem: PreparedCase<'static>,
    mut arrays: Arrays,
    file: &KernelFile,
) -> Result<Arrays> {
    for buffer in &mut problem.buffers {
        // Elements that an exercise leaves unwritten stay unwritten here.
        let is_given = buffer.argument.values.is_some();
        buffer.bits = arrays
            .remove(buffer.argument.name.as_str())
            .filter(|_| is_given);
    }
    let result = judge::execute(built, &problem, false, &AtomicU64::new(0))?;
    if let Some(finding) = result.findings.first() {
        bail!("{}", text::finding_lines(finding, file).join("\n"));
    }
    let mut outputs = result.outputs.context("it did not finish")?;
    let made = problem.buffers.iter().filter_map(|buffer| {
        let name = buffer.argument.name.as_str();
        Some((name, outputs.remove(name)?.words))
    });
    Ok(made.collect())
}
