//! Comparing programs that take turns: A B, B A, A B, …, with one run of each per round.
//!
//! Clocks, memory placement and neighbours differ from one start of a program to the next. These differences are
//! larger than those between steps, and the runs of a round share part of them. So a round gives one number, the
//! ratio of its medians, and the interval is Student's t over rounds. A bootstrap over three to ten rounds would be
//! far too narrow: three rounds have only ten different resamples.

use super::{check_confidence, student_quantile};
use crate::{Basis, CompareError, Interval, LEAST_RUNS, Series, half_width, ratio_of_medians};

/// Upper limit for a proposed number of further rounds.
const MOST_FURTHER_ROUNDS: usize = 200;

/// Interval of median(a) / median(b), where `a[i]` and `b[i]` ran in the same round.
///
/// With fewer than [`LEAST_RUNS`] rounds it compares the steps of the last round instead, and the basis says so.
///
/// # Errors
/// If a side has no run, or if too few steps are independent to compare single runs.
pub fn ratio_in_rounds(
    a: &[Series],
    b: &[Series],
    middle: impl Fn(&Series) -> f64,
    confidence: f64,
) -> Result<Interval, CompareError> {
    let rounds = a.len().min(b.len());
    if rounds < LEAST_RUNS {
        return ratio_of_medians(&a[..rounds], &b[..rounds], confidence);
    }
    let log_ratios: Vec<f64> = a
        .iter()
        .zip(b)
        .map(|(a, b)| (middle(a) / middle(b)).ln())
        .collect();
    let steps = a.iter().chain(b).map(|run| run.values.len()).min();
    interval_of_log_ratios(&log_ratios, confidence, steps.unwrap_or(0))
}

/// Interval of the geometric mean of ratios. The input holds their logarithms, one for each round of at least `steps`
/// steps.
///
/// # Errors
/// If there are fewer than two ratios, or if `confidence` is not between 0 and 1.
pub fn interval_of_log_ratios(
    log_ratios: &[f64],
    confidence: f64,
    steps: usize,
) -> Result<Interval, CompareError> {
    check_confidence(confidence)?;
    let rounds = log_ratios.len();
    if rounds < 2 {
        return Err(CompareError::NoRun);
    }
    let n = rounds as f64;
    let mean = log_ratios.iter().sum::<f64>() / n;
    let squares: f64 = log_ratios.iter().map(|log| (log - mean).powi(2)).sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    let half_width = half_width(confidence, n - 1.0, error);
    let counted = (steps, rounds);
    Ok(Interval::from_log_ratio(
        mean,
        half_width,
        confidence,
        Basis::Rounds,
        counted,
    ))
}

impl Interval {
    /// Number of further runs of each side after which the half width should be `wanted`.
    ///
    /// More rounds narrow the interval in two ways: with the square root of their number, and because Student's t
    /// falls.
    pub(super) fn runs_until(&self, wanted: f64) -> Option<usize> {
        if !(wanted > 0.0 && self.runs >= 2) {
            return None;
        }
        let quantile = |runs: usize| {
            let freedom = match self.basis {
                Basis::Runs => 2.0 * (runs as f64 - 1.0),
                Basis::Steps | Basis::Rounds => runs as f64 - 1.0,
                // Each round has many runs, so further rounds hardly lower Student's t.
                Basis::Combinations => return 1.0,
            };
            student_quantile(0.5 + self.confidence / 2.0, freedom)
        };
        let spread = self.half_width() * (self.runs as f64).sqrt() / quantile(self.runs);
        (1..=MOST_FURTHER_ROUNDS).find(|further| {
            let runs = self.runs + further;
            quantile(runs) * spread / (runs as f64).sqrt() <= wanted
        })
    }
}
