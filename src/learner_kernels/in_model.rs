//! Puts a learner's kernel into a real training step, for the exercises that V4 has a place for.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result, anyhow, bail};

use super::gpu;
use tinyllama_contract::flags::UsageError;
use tinyllama_contract::{Arrays, KernelInPlace};
use tinyllama_workbench::compile::{self, HostModule};
use tinyllama_workbench::exercise::{Exercise, NamedSizes, find};
use tinyllama_workbench::file::KernelFile;
use tinyllama_workbench::problem::PreparedCase;
use tinyllama_workbench::toolchain::Toolchain;
use tinyllama_workbench::{KernelFinding, stand_in, text};

/// Exercises whose kernels can replace V4's own.
pub const PLACES: [&str; 4] = ["rmsnorm", "swiglu", "cross-entropy", "adamw"];

/// Lanes of a wavefront on the stand-in, as on CDNA.
const WAVE: u32 = 64;

/// Prepares the kernel of a file so that V4 can call it.
///
/// # Errors
/// Fails if V4 has no place for the exercise, or the file has no such kernel.
pub fn kernel(operation: &str, path: &Path) -> Result<KernelInPlace> {
    if !PLACES.contains(&operation) {
        let places = PLACES.join(", ");
        bail!(UsageError(format!(
            "--kernel {operation}: v4 has places for {places}"
        )));
    }
    let exercise = find(operation)?;
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

/// Returns the kernel on the stand-in; it is compiled at the first call.
fn on_host(
    exercise: &'static Exercise,
    file: KernelFile,
) -> impl Fn(&[(&str, usize)], Option<ScalarArgument<'_>>, Arrays) -> Result<Arrays> {
    let compiled = OnceLock::new();
    move |sizes, number, arrays| {
        let compile = || compile(exercise, &file).map_err(|error| format!("{error:#}"));
        let compiled = compiled.get_or_init(compile).as_ref();
        let (toolchain, module) = compiled.map_err(|error| anyhow!("{error}"))?;
        let mut problem = PreparedCase::shape(exercise, &named(sizes), WAVE)?;
        if let Some((name, value)) = number {
            problem.set_number(name, value);
        }
        let made = on_stand_in(toolchain, module, problem, arrays, &file);
        made.with_context(|| format!("your {} in the model, on the stand-in", exercise.name))
    }
}

fn named(sizes: &[(&str, usize)]) -> NamedSizes {
    let sizes = sizes.iter();
    sizes
        .map(|(name, size)| ((*name).to_owned(), *size as f64))
        .collect()
}

fn compile(exercise: &Exercise, file: &KernelFile) -> Result<(Toolchain, HostModule)> {
    let toolchain = Toolchain::ready(&mut |_| {})?;
    let module = compile::compile(&toolchain, exercise, file)?;
    let module = module.map_err(|_| anyhow!("it does not compile"))?;
    Ok((toolchain, module))
}

/// Runs one launch in its own process, with the limits of a check.
fn on_stand_in(
    toolchain: &Toolchain,
    module: &HostModule,
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
    let answer = stand_in::run(toolchain, module, &problem, false)?;
    if let Some(finding) = answer.findings.first() {
        bail!("{}", text::finding_lines(finding, file).join("\n"));
    }
    let mut outputs = answer.outputs.context("it did not finish")?;
    let made = problem.buffers.iter().filter_map(|buffer| {
        let name = buffer.argument.name.as_str();
        Some((name, outputs.remove(name)?.words))
    });
    Ok(made.collect())
}
