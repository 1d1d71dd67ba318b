//! `run v4 --kernel`: trains with learners' kernels, after a check of their gradients.

use anyhow::{Result, bail};

use crate::{gpu, in_model};
use tinyllama_base::statistics::relative_difference;
use tinyllama_contract::flags::{OwnKernel, Switch, UsageError};
use tinyllama_engine::device::open_driver_of;
use tinyllama_engine::model::Weights;
use tinyllama_engine::targets::{Target, v4};
use tinyllama_engine::train::{
    Data, EngineDevice, KernelInPlace, MatmulPrecision, Synchronize, TrainingOptions,
};
use tinyllama_workbench::check::{self, CheckOptions};
use tinyllama_workbench::{KernelFile, find, text};

/// Limit for the relative difference of an f32 gradient; a different order of roundings stays below it.
const ALLOWED: f64 = 1e-4;

/// Size limit for models in the emulator, which then needs seconds for a step.
const MOST_PARAMETERS: u64 = 1_000_000;
const SMALL_FLAGS: &str = "--config tiny --layers 1 --hidden 64 --batch-size 2 --seq-len 32";

/// Reads the named kernels.
///
/// # Errors
/// If the target cannot use them, or if a file does not contain a kernel.
pub fn read_named(named: &[OwnKernel], target: Target) -> Result<Vec<KernelInPlace>> {
    if !named.is_empty() && target != v4::TARGET {
        bail!(UsageError(format!(
            "--kernel is for v4, whose step can use your kernels; {target} cannot"
        )));
    }
    let read = named
        .iter()
        .map(|own| in_model::kernel(&own.operation, &own.file));
    read.collect()
}

/// Checks each kernel on this device. Then it compares every gradient of a step with and without them, and parameters
/// and moments after an update. Returns a note for the reader.
///
/// # Errors
/// If a kernel fails its check, or if a gradient or an update differs.
pub fn check(
    options: &TrainingOptions,
    device: &dyn EngineDevice,
    weights: &Weights,
) -> Result<String> {
    let on = &options.flags.on;
    let driver = open_driver_of(on.backend, on.device.as_deref())?;
    let parameters = options.config.parameters();
    if driver.is_none() && parameters > MOST_PARAMETERS {
        bail!(UsageError(format!(
            "--kernel without a GPU runs in an emulator, and this model has {parameters} parameters: \
             {MOST_PARAMETERS} at most; use {SMALL_FLAGS}"
        )));
    }
    for own in &options.kernels {
        let (exercise, file) = (find(&own.operation)?, KernelFile::read(&own.file)?);
        let file = file.map_err(|finding| UsageError(finding.message))?;
        let checked = match &driver {
            Some(driver) => gpu::check(driver, exercise, &file)?,
            None => check::check(exercise, &file, &CheckOptions::default(), &mut |_| {})?,
        };
        if !checked.passed {
            bail!("{}", text::lines(&checked, &file).join("\n"));
        }
    }
    let in_emulator = driver.is_none();
    drop(driver);
    let batch = Data::synthetic(&options.config, options.flags.seed).next_batch();
    // Both sides use full precision for products and the same algorithms, so only the kernels differ.
    let with = |wanted: &dyn Fn(&KernelInPlace) -> bool| {
        let kernels = options.kernels.iter().filter(|own| wanted(own));
        let mut exact = TrainingOptions {
            kernels: kernels.cloned().collect(),
            ..options.clone()
        };
        exact.flags.switches.matmul_precision = MatmulPrecision::F32;
        exact.flags.switches.ultra = Switch::Off;
        exact.flags.on.deterministic = true;
        device.engine(&exact, weights)
    };
    let is_update = |own: &KernelInPlace| own.replaces == "adamw";
    let mut agree = vec![];
    if !options.kernels.iter().all(is_update) {
        let expected = with(&|_| false)?.gradients(&batch)?;
        let got = with(&|_| true)?.gradients(&batch)?;
        let pairs = expected.gradients.into_iter().zip(got.gradients);
        let pairs = pairs
            .map(|((name, expected), (_, got))| (format!("the gradient of {name}"), expected, got));
        agree.push(format!("every gradient within {:.1e}", worst(pairs)?));
    }
    if options.kernels.iter().any(is_update) {
        // The last bits of the other gradients differ, and an update amplifies this for gradients near 0.
        let updated = |wanted: &dyn Fn(&KernelInPlace) -> bool| {
            let mut engine = with(wanted)?;
            engine.step(&batch, Synchronize::Step)?;
            engine.optimizer_state()
        };
        let pairs = updated(&|_| false)?.into_iter().zip(updated(&is_update)?);
        let pairs = pairs.map(|((name, expected), (_, got))| {
            let name = format!("`{name}` after an update");
            (name, Some(expected), Some(got))
        });
        let worst = worst(pairs)?;
        agree.push(format!(
            "parameters and moments after an update within {worst:.1e}"
        ));
    }
    let names = options.kernels.iter().map(|own| &own.operation);
    let (names, agree) = (itertools::join(names, ", "), agree.join(", "));
    let rest = match in_emulator {
        true => {
            "times are those of an emulator of a GPU on this CPU, and say nothing about the kernel"
        }
        false => "`compare v4 \"v4:--kernel ...\"` says what it changes",
    };
    Ok(format!(
        "your {names} in place of v4's own agrees: {agree}; {rest}"
    ))
}

/// The largest relative difference.
fn worst(pairs: impl Iterator<Item = (String, Option<Vec<f32>>, Option<Vec<f32>>)>) -> Result<f64> {
    let mut worst = 0.0f64;
    for (name, expected, got) in pairs {
        let (expected, got) = match (expected, got) {
            (Some(expected), Some(got)) => (expected, got),
            (None, None) => continue,
            _ => bail!("{name} exists only with your kernels or only without them"),
        };
        let difference = relative_difference(&got, &expected);
        // A NaN does not count as agreement.
        if difference.is_nan() || difference > ALLOWED {
            bail!(
                "with your kernels {name} differs by {difference:.1e} from v4's own; {ALLOWED:.0e} is allowed"
            );
        }
        worst = worst.max(difference);
    }
    Ok(worst)
}
