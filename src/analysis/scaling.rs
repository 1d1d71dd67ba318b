//! Growth of time and memory with sequence length and batch size: a grid of runs and the exponents fitted to it.
//!
//! The fit is `log y = c + a log S + b log B` over the cells that ran. A power law seldom holds over a whole grid:
//! launches bound small cells, arithmetic bounds large ones. That misfit is part of the residuals, so it widens the
//! interval. The exponents between neighbours show at which size growth changes.

use std::fmt;

use itertools::Itertools;
use serde::Serialize;

use super::comparison::{paths, peak_bytes, total_series};
use super::least_squares::fit;
use super::relative::middle;
use super::runner::MeasuredRun;
use tinyllama_base::named;
use tinyllama_base::statistics::{Series, half_width};

/// A pair of sizes. A size that is absent is the target's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    pub sequence_length: usize,
    pub batch_size: usize,
}

impl Size {
    /// Returns whether `other` is at least as large in both sizes, so that it needs at least as much.
    pub fn fits_inside(&self, other: &Size) -> bool {
        self.sequence_length <= other.sequence_length && self.batch_size <= other.batch_size
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sequence, batch) = (self.sequence_length, self.batch_size);
        write!(f, "sequence {sequence}, batch {batch}")
    }
}

/// The result of one cell of the grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ScalingCell {
    Measured(ScalingPoint),
    OutOfMemory {
        size: Size,
        message: String,
    },
    /// A smaller size did not fit.
    NotTried {
        size: Size,
    },
}

impl ScalingCell {
    pub fn size(&self) -> Size {
        match self {
            ScalingCell::Measured(ScalingPoint { size, .. })
            | ScalingCell::OutOfMemory { size, .. }
            | ScalingCell::NotTried { size } => *size,
        }
    }

    pub fn measured(&self) -> Option<&ScalingPoint> {
        match self {
            ScalingCell::Measured(measured) => Some(measured),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScalingPoint {
    pub size: Size,
    /// Median of the runs' medians.
    pub step_ms: f64,
    pub step_ms_of_rounds: Vec<f64>,
    pub samples_per_s: f64,
    pub tokens_per_s: f64,
    pub peak_bytes: Option<u64>,
    pub launches: Option<f64>,
    /// Counted from shapes.
    pub flops: Option<f64>,
    pub runs: Vec<String>,
}

impl ScalingPoint {
    /// Returns `None` without a run.
    pub fn from_runs(size: Size, runs: &[MeasuredRun]) -> Option<Self> {
        let last = runs.last()?;
        let series = total_series(runs);
        let step_ms = middle(&series)?;
        let a_second = |things: usize| things as f64 / (step_ms / 1e3);
        Some(ScalingPoint {
            size,
            step_ms,
            step_ms_of_rounds: series.iter().map(Series::median).collect(),
            samples_per_s: a_second(size.batch_size),
            tokens_per_s: a_second(size.batch_size * size.sequence_length),
            peak_bytes: peak_bytes(last),
            launches: last.summary.launches_per_step,
            flops: last.parts.as_ref().map(|parts| parts.flops_per_step),
            runs: paths(runs),
        })
    }
}

/// The results of a target over all sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetScale {
    /// The target with its flags.
    pub name: String,
    pub target: String,
    pub cells: Vec<ScalingCell>,
    pub growths: Vec<GrowthExponent>,
}

impl TargetScale {
    pub fn measured(&self) -> Vec<&ScalingPoint> {
        self.cells
            .iter()
            .filter_map(ScalingCell::measured)
            .collect()
    }
}

named! {
    /// The size that varies.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SizeAxis {
        SequenceLength = "sequence length",
        BatchSize = "batch size",
    }
}

impl SizeAxis {
    fn size_in(self, size: Size) -> usize {
        match self {
            SizeAxis::SequenceLength => size.sequence_length,
            SizeAxis::BatchSize => size.batch_size,
        }
    }
}

/// An exponent: the figure grows as the axis to this power.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GrowthExponent {
    /// `time`, `memory` or `counted FLOP`.
    pub of: &'static str,
    pub axis: SizeAxis,
    pub exponent: f64,
    /// Null if there are only as many points as unknowns.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub confidence: f64,
    pub points: usize,
    pub between_neighbours: Vec<Local>,
}

/// The exponent between two neighbouring cells that differ in one axis only.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Local {
    pub from: Size,
    pub to: Size,
    pub exponent: f64,
}

/// Exponents of time, memory and counted work in every axis that varied.
pub fn growths(cells: &[ScalingPoint], confidence: f64) -> Vec<GrowthExponent> {
    type Figure = (&'static str, fn(&ScalingPoint) -> Option<f64>);
    let figures: [Figure; 3] = [
        ("time", |cell| Some(cell.step_ms)),
        ("memory", |cell| cell.peak_bytes.map(|bytes| bytes as f64)),
        ("counted FLOP", |cell| cell.flops),
    ];
    let of_figure = |(of, value): &Figure| {
        let points = cells
            .iter()
            .filter_map(|cell| Some((cell.size, value(cell)?)));
        let points = points.filter(|(_, value)| value.is_finite() && *value > 0.0);
        growth(of, &points.collect::<Vec<_>>(), confidence)
    };
    figures.iter().flat_map(of_figure).collect()
}

fn growth(of: &'static str, points: &[(Size, f64)], confidence: f64) -> Vec<GrowthExponent> {
    let of_points = |axis: SizeAxis| points.iter().map(move |(size, _)| axis.size_in(*size));
    let mut axes = SizeAxis::ALL.to_vec();
    axes.retain(|axis| !of_points(*axis).all_equal());
    let row = |size: &Size| -> Vec<f64> {
        let logs = axes.iter().map(|axis| (axis.size_in(*size) as f64).ln());
        std::iter::once(1.0).chain(logs).collect()
    };
    let rows: Vec<Vec<f64>> = points.iter().map(|(size, _)| row(size)).collect();
    let logs: Vec<f64> = points.iter().map(|(_, value)| value.ln()).collect();
    let Some(fit) = fit(&rows, &logs) else {
        return vec![];
    };
    axes.iter()
        .enumerate()
        .map(|(at, axis)| {
            let exponent = fit.coefficients[at + 1];
            let errors = fit.standard_errors.as_ref();
            let half_width =
                errors.map(|errors| half_width(confidence, fit.freedom as f64, errors[at + 1]));
            GrowthExponent {
                of,
                axis: *axis,
                exponent,
                low: half_width.map(|half| exponent - half),
                high: half_width.map(|half| exponent + half),
                confidence,
                points: points.len(),
                between_neighbours: neighbours(points, *axis),
            }
        })
        .collect()
}

fn neighbours(points: &[(Size, f64)], axis: SizeAxis) -> Vec<Local> {
    let mut locals = Vec::new();
    for (from, value) in points {
        let next = points
            .iter()
            .filter(|(size, _)| {
                let alike = |other: &SizeAxis| {
                    *other == axis || other.size_in(*size) == other.size_in(*from)
                };
                SizeAxis::ALL.iter().all(alike) && axis.size_in(*size) > axis.size_in(*from)
            })
            .min_by_key(|(size, _)| axis.size_in(*size));
        if let Some((to, next)) = next {
            locals.push(Local {
                from: *from,
                to: *to,
                exponent: (next / value).ln()
                    / (axis.size_in(*to) as f64 / axis.size_in(*from) as f64).ln(),
            });
        }
    }
    locals
}

/// Sorts a grid by need. Small sizes run first, so that no size is tried after a smaller one did not fit.
pub fn by_size(mut sizes: Vec<Size>) -> Vec<Size> {
    sizes.sort_by_key(|size| (size.sequence_length * size.batch_size, size.sequence_length));
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn cell(sequence_length: usize, batch_size: usize, step_ms: f64) -> ScalingPoint {
        ScalingPoint {
            size: Size {
                sequence_length,
                batch_size,
            },
            step_ms,
            step_ms_of_rounds: vec![step_ms],
            samples_per_s: 0.0,
            tokens_per_s: 0.0,
            peak_bytes: None,
            launches: None,
            flops: None,
            runs: vec![],
        }
    }

    #[test]
    fn exponents_of_a_power_law_are_exact_and_memory_that_is_not_reported_has_none() {
        let cells: Vec<ScalingPoint> = [64, 128, 256]
            .iter()
            .flat_map(|s| {
                [1, 4].map(|b| cell(*s, b, 0.1 * (*s as f64).powf(1.5) * (b as f64).powf(0.8)))
            })
            .collect();
        let growths = growths(&cells, 0.95);
        assert_eq!(growths.len(), 2);
        for (growth, exponent) in growths.iter().zip([1.5, 0.8]) {
            assert!((growth.exponent - exponent).abs() < 1e-9, "{growth:?}");
            assert!(
                growth
                    .between_neighbours
                    .iter()
                    .all(|local| (local.exponent - exponent).abs() < 1e-9)
            );
        }
        assert_eq!(growths[0].between_neighbours.len(), 4);
    }

    #[test]
    fn the_interval_holds_the_exponent_as_often_as_it_says() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let mut held = 0;
        for _ in 0..1000 {
            let cells: Vec<ScalingPoint> = [64, 128, 256, 512, 1024]
                .iter()
                .map(|s| {
                    let noise: f64 = (0..12).map(|_| random.random::<f64>() - 0.5).sum();
                    cell(*s, 8, (*s as f64).powf(1.2) * (0.05 * noise).exp())
                })
                .collect();
            let growth = &growths(&cells, 0.95)[0];
            held += usize::from(growth.low.unwrap() <= 1.2 && 1.2 <= growth.high.unwrap());
        }
        assert!((930..=970).contains(&held), "{held}");
    }

    #[test]
    fn two_points_give_an_exponent_without_an_interval_and_one_gives_none() {
        let growth = &growths(&[cell(64, 8, 1.0), cell(128, 8, 4.0)], 0.95)[0];
        assert!((growth.exponent - 2.0).abs() < 1e-9 && growth.low.is_none());
        assert!(growths(&[cell(64, 8, 1.0)], 0.95).is_empty());
        assert!(growths(&[], 0.95).is_empty());
    }
}
