//! What `calibrate` measures with: the ceilings of `device`, as the calibration that is kept.

use anyhow::Result;
use clap::ValueEnum;

use super::calibrate::CalibrateArgs;
use crate::analysis::calibration::{Calibration, VERSION};
use crate::base::clock::since_1970;
use crate::device::{BackendChoice, ceilings};
use crate::run::UsageError;

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
    let measured = ceilings::measure(backend, args.device.as_deref(), &mut progress)?;
    Ok(Calibration {
        version: VERSION,
        measured: since_1970().as_secs(),
        program: env!("CARGO_PKG_VERSION").into(),
        facts: measured.facts,
        compute: measured.compute,
        bandwidth: measured.bandwidth,
        launch: measured.launch,
        synchronise: measured.synchronise,
        notes: measured.notes,
    })
}
