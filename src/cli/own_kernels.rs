//! `run v4 --kernel`: learners' kernels in the real step, not before their gradients agree.

use anyhow::{Context as _, Result, bail};

use crate::base::statistics::relative_difference;
use crate::device::open_driver_of;
use crate::model::Weights;
use crate::run::UsageError;
use crate::run::spec::OwnKernel;
use crate::targets::{Target, v4};
use crate::train::{Data, EngineDevice, KernelInPlace, MatmulPrecision, Options};
use crate::workbench::{File, find, gpu, in_model, words};

/// Relative difference of a gradient that roundings in another order make, in f32.
const ALLOWED: f64 = 1e-4;

/// The kernels that were named, read.
///
/// # Errors
/// Where the target has no place for them, or a file is no kernel.
pub fn of(named: &[OwnKernel], target: Target) -> Result<Vec<KernelInPlace>> {
    if !named.is_empty() && target != v4::TARGET {
        bail!(UsageError(format!(
            "--kernel is for v4, whose step takes kernels of yours; {target} has no place for them"
        )));
    }
    let read = named
        .iter()
        .map(|own| in_model::kernel(&own.operation, &own.file));
    read.collect()
}

/// Checks each kernel on this device, then every gradient of a step with them against one without. The answer is a note.
///
/// # Errors
/// Where a kernel fails its check or a gradient differs.
pub fn check(options: &Options, device: &dyn EngineDevice, weights: &Weights) -> Result<String> {
    let driver = open_driver_of(options.backend, options.device.as_deref())?;
    let driver = driver.context("--kernel needs a GPU of AMD or NVIDIA")?;
    for own in &options.kernels {
        let (exercise, file) = (find(&own.operation)?, File::read(&own.file)?);
        let file = file.map_err(|finding| UsageError(finding.message))?;
        let checked = gpu::check(&driver, exercise, &file)?;
        if !checked.passed {
            bail!("{}", words::lines(&checked, &file).join("\n"));
        }
    }
    drop(driver);
    let batch = Data::synthetic(&options.config, options.seed).next_batch();
    // All bits of the products, and the same algorithms on both sides: what differs is the kernels.
    let exact = Options {
        matmul_precision: MatmulPrecision::F32,
        deterministic: true,
        capture: false,
        ..options.clone()
    };
    let without = Options {
        kernels: vec![],
        ..exact.clone()
    };
    let expected = device.engine(&without, weights)?.gradients(&batch)?;
    let got = device.engine(&exact, weights)?.gradients(&batch)?;
    let mut worst = 0.0f64;
    for ((name, expected), (_, got)) in expected.gradients.iter().zip(&got.gradients) {
        let (expected, got) = match (expected, got) {
            (Some(expected), Some(got)) => (expected, got),
            (None, None) => continue,
            _ => bail!(
                "with your kernels {name} has a gradient where it has none without them, or none where it has one"
            ),
        };
        let difference = relative_difference(got, expected);
        // A NaN is no agreement.
        if difference.is_nan() || difference > ALLOWED {
            bail!(
                "with your kernels the gradient of {name} differs by {difference:.1e} from v4's own, of {ALLOWED:.0e} allowed"
            );
        }
        worst = worst.max(difference);
    }
    let names: Vec<&str> = options
        .kernels
        .iter()
        .map(|own| own.operation.as_str())
        .collect();
    Ok(format!(
        "your {} in place of v4's own: every gradient agrees within {worst:.1e}; `compare v4 \"v4:--kernel ...\"` says what it changes",
        names.join(", ")
    ))
}
