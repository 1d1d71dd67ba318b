//! The roofline of a training step: as a whole, by phase, by part and by kernel.
//!
//! Operations and bytes are counted from shapes, and times are measured. Ceilings are measured if the device was
//! calibrated, otherwise they come from its data sheet.

mod ceilings;
mod counters;
mod points;

pub use ceilings::{ceilings, named, product_units};
pub use counters::{CounterCheck, against_counters};
pub use points::{KernelWork, has_products};

use super::calibration::Calibration;
use super::{MeasuredRun, gpus};
use tinyllama_base::roofline::Roofline;

/// Builds the roofline of a run that counted its work. Kernels have points if the device gives time stamps. Ceilings come
/// from `calibration` and from the device's data sheet.
pub fn of_run(
    run: &MeasuredRun,
    calibration: Option<&Calibration>,
    works: &[KernelWork],
) -> Roofline {
    let hello = &run.hello;
    let units = product_units(&hello.dtype, &hello.matmul_precision);
    let sheet = gpus::find(&hello.device);
    let ceilings = ceilings(&units, calibration, sheet.as_ref());
    let mut notes = Vec::new();
    let points = points::points_of_run(run, works, &mut notes);
    let warnings = calibration.map_or(vec![], Calibration::warnings);
    notes.extend(
        warnings
            .iter()
            .map(|warning| format!("Calibrated {warning}.")),
    );
    if ceilings.memory().is_none() {
        notes.push(
            "No ceilings are known: run `tinyllama-tutor calibrate`; this device is not in the table of data sheets either."
                .into(),
        );
    }
    let title = format!(
        "{} on {} ({}), products in {}",
        hello.target, hello.device, hello.backend, hello.dtype
    );
    Roofline {
        notes,
        ..Roofline::new(title, "shapes, a step", ceilings, points)
    }
}

#[cfg(test)]
mod tests;
