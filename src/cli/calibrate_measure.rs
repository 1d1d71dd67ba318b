//! What `calibrate` measures with: the ceilings of `device`, as the calibration that is kept.

use std::time::SystemTime;

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::calibrate::CalibrateArgs;
use super::training_args::UsageError;
use crate::analysis::calibration::{
    BandwidthCeiling, Calibration, ComputeCeiling, DeviceFacts, Latency, Level, Sampled, Unit,
    VERSION,
};
use crate::device::BackendChoice;
use crate::device::ceilings::{self, ArithmeticUnit, Latencies, Measured, MemoryLevel};

/// Opens the device the arguments lead to and measures it.
///
/// # Errors
/// A backend there is no such thing as, a device that cannot be opened, or one on which nothing could be measured.
pub fn measure(args: &CalibrateArgs) -> Result<Calibration> {
    let backend = match &args.backend {
        None => BackendChoice::Auto,
        Some(name) => BackendChoice::from_str(name, true).map_err(|_| {
            UsageError(format!(
                "--backend {name}: take auto, rocm, cuda, vulkan or cpu"
            ))
        })?,
    };
    let mut progress = |what: &str| eprintln!("  {what}");
    calibration(ceilings::measure(
        backend,
        args.device.as_deref(),
        &mut progress,
    )?)
}

fn calibration(measured: Measured) -> Result<Calibration> {
    let facts = measured.facts;
    let mut calibration = Calibration {
        version: VERSION,
        measured: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .context("this machine's clock stands before 1970")?
            .as_secs(),
        program: env!("CARGO_PKG_VERSION").into(),
        facts: DeviceFacts {
            backend: facts.backend.to_string(),
            device: facts.name,
            arch: facts.arch,
            driver: facts.driver,
            memory: facts.memory,
        },
        compute: vec![],
        bandwidth: vec![],
        launch: measured.launch.and_then(latency),
        synchronise: measured.synchronise.and_then(latency),
        notes: measured.notes,
    };
    for rates in measured.compute {
        let Some(flops_per_s) = Sampled::of(&rates.flops_per_s) else {
            continue;
        };
        calibration.compute.push(ComputeCeiling {
            dtype: rates.dtype.into(),
            unit: match rates.unit {
                ArithmeticUnit::Vector => Unit::Vector,
                ArithmeticUnit::Matrix => Unit::Matrix,
            },
            flops_per_s,
            how: rates.how,
        });
    }
    for rates in measured.bandwidth {
        let Some(bytes_per_s) = Sampled::of(&rates.bytes_per_s) else {
            continue;
        };
        calibration.bandwidth.push(BandwidthCeiling {
            level: match rates.level {
                MemoryLevel::Cold => Level::Cold,
                MemoryLevel::Warm => Level::Warm,
            },
            bytes_per_s,
            working_set: rates.working_set,
            how: rates.how,
        });
    }
    Ok(calibration)
}

fn latency(latencies: Latencies) -> Option<Latency> {
    Some(Latency {
        microseconds: Sampled::of(&latencies.microseconds)?,
        how: latencies.how,
    })
}
