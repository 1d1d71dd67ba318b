//! Where a training step stands under the ceilings of its device: as a whole, by phase, by part and by kernel.
//!
//! Operations and bytes are counted from shapes, times are measured, ceilings are measured where the device was calibrated
//! and else those of its data sheet. S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model
//! for multicore architectures", CACM 52, 2009.

mod ceilings;
mod counters;
pub mod draw;
mod points;
pub mod svg;

use serde::Serialize;

pub use ceilings::{Ceiling, Ceilings, Source, product_type};
pub use counters::{CounterCheck, against_counters};
pub use points::{KernelWork, product_work};

use super::MeasuredRun;
use super::calibration::Calibration;
use super::gpus::DataSheet;

/// Below this share of its limit something other than the ceilings holds a kernel back.
pub const NEAR: f64 = 0.15;

/// Kernels shorter than this, in milliseconds, mostly start and end.
const SHORT_MS: f64 = 0.01;

/// How finely a point divides the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grain {
    Step,
    /// Forward, backward, optimizer by the host's clock.
    Phase,
    /// Device time of a part of the model.
    Part,
    /// Device time of a kernel, or of kernels that do one thing together.
    Kernel,
}

/// What holds a point back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Memory,
    Arithmetic,
    /// Neither: launches, waiting, or too little work at a time.
    Overhead,
}

/// Work that took a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub name: String,
    pub grain: Grain,
    /// A step, counted from shapes.
    pub flops: f64,
    /// A step, the least that must be moved; counted from shapes.
    pub bytes: f64,
    /// A step, measured.
    pub ms: f64,
    pub launches: Option<f64>,
    /// Names of the kernels that did it, as the run reported them; empty for what is coarser.
    pub kernels: Vec<String>,
    /// FLOP a byte.
    pub intensity: f64,
    pub flops_per_s: f64,
    pub bytes_per_s: f64,
    /// FLOP/s that the ceilings allow at this intensity; null without ceilings.
    pub attainable: Option<f64>,
    /// Reached over attainable.
    pub share: Option<f64>,
    pub bound: Option<Bound>,
    pub what_would_help: Option<String>,
}

/// Everything the command shows.
#[derive(Clone, Debug, Serialize)]
pub struct Roofline {
    pub target: String,
    pub device: String,
    pub backend: String,
    /// Operands of matrix products.
    pub dtype: String,
    pub ceilings: Ceilings,
    pub points: Vec<Point>,
    pub notes: Vec<String>,
}

impl Roofline {
    /// Of a run that counted its work and, where the device gives time stamps, timed its kernels.
    pub fn of(
        run: &MeasuredRun,
        calibration: Option<&Calibration>,
        sheet: Option<&DataSheet>,
        works: &[KernelWork],
    ) -> Self {
        let hello = &run.hello;
        let ceilings = Ceilings::new(&hello.dtype, &hello.matmul_precision, calibration, sheet);
        let mut notes = Vec::new();
        let mut points = points::of(run, works, &mut notes);
        for point in &mut points {
            point.judge(&ceilings);
        }
        if ceilings.is_empty() {
            notes.push(
                "No ceilings are known: run `tinyllama-tutor calibrate`; this device is not in the table of data sheets either."
                    .into(),
            );
        }
        Roofline {
            target: hello.target.clone(),
            device: hello.device.clone(),
            backend: hello.backend.clone(),
            dtype: hello.dtype.clone(),
            ceilings,
            points,
            notes,
        }
    }
}

impl Point {
    /// None where there is no work, no traffic or no time to divide by.
    fn new(
        name: impl Into<String>,
        grain: Grain,
        (flops, bytes): (f64, f64),
        ms: f64,
        launches: Option<f64>,
    ) -> Option<Self> {
        let usable = [flops, bytes, ms]
            .iter()
            .all(|value| value.is_finite() && *value > 0.0);
        usable.then(|| Point {
            name: name.into(),
            grain,
            flops,
            bytes,
            ms,
            launches,
            kernels: vec![],
            intensity: flops / bytes,
            flops_per_s: flops / (ms / 1e3),
            bytes_per_s: bytes / (ms / 1e3),
            attainable: None,
            share: None,
            bound: None,
            what_would_help: None,
        })
    }

    fn judge(&mut self, ceilings: &Ceilings) {
        let products = self.grain != Grain::Kernel || points::is_product(&self.name);
        let Some((arithmetic, bandwidth)) = ceilings.limits(products) else {
            return;
        };
        let attainable = arithmetic.min(self.intensity * bandwidth);
        let share = self.flops_per_s / attainable;
        let bound = if share < NEAR {
            Bound::Overhead
        } else if self.intensity * bandwidth < arithmetic {
            Bound::Memory
        } else {
            Bound::Arithmetic
        };
        self.attainable = Some(attainable);
        self.share = Some(share);
        self.bound = Some(bound);
        self.what_would_help = Some(self.advice(bound, share).into());
    }

    fn advice(&self, bound: Bound, share: f64) -> &'static str {
        let each = self.launches.map(|launches| self.ms / launches.max(1.0));
        match bound {
            _ if share > 1.0 => {
                "faster than memory allows for the counted bytes: they stay in a cache, so the cache's ceiling counts"
            }
            Bound::Overhead if each.is_some_and(|ms| ms < SHORT_MS) => {
                "kernels are too short: fuse them, or give each more work (a larger batch)"
            }
            Bound::Overhead if self.grain == Grain::Kernel => {
                "far from both ceilings: look at occupancy, coalescing and how many units have work"
            }
            Bound::Overhead => {
                "far from both ceilings: fewer and larger launches, less waiting, a larger batch"
            }
            Bound::Memory if share > 0.7 => {
                "near the memory's limit: only moving less helps, by fusion or smaller types"
            }
            Bound::Memory => "move less (fusion, smaller types) and read in whole lines",
            Bound::Arithmetic if share > 0.7 => {
                "near the arithmetic limit: only fewer operations or a smaller type help"
            }
            Bound::Arithmetic => "matrix units, larger tiles, or a smaller type",
        }
    }
}

#[cfg(test)]
mod tests;
