//! Checks today's runs against a baseline, with intervals if the spread is known.

mod baseline;

use serde::Serialize;

pub use baseline::{Baseline, RunFigures};

use super::relative::{RelativeTime, USUAL_MARGIN};
use tinyllama_base::statistics::{BoundVerdict as Bound, Interval, Series, ratio_of_medians};
use tinyllama_base::{Share, named, percent};

named! {
    /// A figure that is compared with the baseline.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RegressionFigure {
        StepTime = "step time",
        Throughput = "throughput",
        Memory = "memory",
        Launches = "launches",
        FinalLoss = "final loss",
        /// Compared with another target of today, not with the baseline.
        Speedup = "speed-up",
    }
}

named! {
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegressionVerdict {
    Passed = "passed",
    /// Worse than the tolerance allows. If there is an interval, this holds with the stated confidence.
    Regression = "REGRESSION",
    /// The interval contains the bound.
    Inconclusive = "inconclusive",
    /// One side does not report the figure, or there is no baseline.
    NotCompared = "not compared",
}
}

/// One figure of one target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureOutcome {
    pub target: String,
    pub figure: RegressionFigure,
    pub verdict: RegressionVerdict,
    /// Today over baseline. For a speed-up, the other target's time over this one's.
    pub ratio: Option<f64>,
    pub interval: Option<Interval>,
    /// The result as text with its numbers.
    pub message: String,
}

/// Compares today's runs of a target with its baseline. `tolerance` is a share: 0.05 is 5 %.
pub fn check(
    target: &str,
    today: &[RunFigures],
    baseline: &[RunFigures],
    tolerance: f64,
    confidence: f64,
) -> Vec<FigureOutcome> {
    let outcome = |figure, (verdict, ratio, interval, message)| FigureOutcome {
        target: target.to_string(),
        figure,
        verdict,
        ratio,
        interval,
        message,
    };
    let spread = |figure, of: fn(&RunFigures) -> _, allowed| {
        let (today, baseline) = (series(today, of), series(baseline, of));
        outcome(figure, with_spread(&today, &baseline, allowed, confidence))
    };
    let plain = |figure, of: fn(&RunFigures) -> Option<f64>| {
        outcome(
            figure,
            exact(worst(today, of), worst(baseline, of), tolerance),
        )
    };
    let least = Allowed::AtLeast(1.0 - tolerance);
    vec![
        spread(
            RegressionFigure::StepTime,
            |run| run.step_ms.clone(),
            Allowed::AtMost(1.0 + tolerance),
        ),
        spread(
            RegressionFigure::Throughput,
            RunFigures::throughput_of_steps,
            least,
        ),
        plain(RegressionFigure::Memory, |run| run.peak_bytes),
        plain(RegressionFigure::Launches, |run| run.launches),
        plain(RegressionFigure::FinalLoss, |run| run.final_loss),
    ]
}

/// Checks that a target is at least `least` times as fast as another one. The runs of both have to take turns.
pub fn check_speedup(
    target: &str,
    runs: &[Series],
    against: &str,
    others: &[Series],
    least: f64,
    confidence: f64,
) -> FigureOutcome {
    let time = RelativeTime::from_rounds(runs, others, confidence, USUAL_MARGIN);
    let interval = time.as_ref().and_then(|time| time.interval);
    let verdict = match interval.map(|interval| interval.judge(None, Some(1.0 / least))) {
        Some(Bound::Passed) => RegressionVerdict::Passed,
        Some(Bound::NotYet) => RegressionVerdict::Regression,
        Some(Bound::Inconclusive { .. }) | None => RegressionVerdict::Inconclusive,
    };
    FigureOutcome {
        target: target.to_string(),
        figure: RegressionFigure::Speedup,
        verdict,
        ratio: time.as_ref().map(|time| 1.0 / time.ratio),
        interval,
        message: format!(
            "{} over {against}; asked for: at least {least}x",
            time.map_or("not known".into(), |time| time.speedup_text())
        ),
    }
}

#[derive(Clone, Copy)]
enum Allowed {
    AtMost(f64),
    AtLeast(f64),
}

type JudgedFigure = (RegressionVerdict, Option<f64>, Option<Interval>, String);

fn series(runs: &[RunFigures], values: impl Fn(&RunFigures) -> Vec<f64>) -> Vec<Series> {
    runs.iter()
        .filter_map(|run| Series::new(values(run)).ok())
        .collect()
}

fn with_spread(
    today: &[Series],
    baseline: &[Series],
    allowed: Allowed,
    confidence: f64,
) -> JudgedFigure {
    let interval = match ratio_of_medians(today, baseline, confidence) {
        Ok(interval) => interval,
        Err(error) => {
            return (
                RegressionVerdict::NotCompared,
                None,
                None,
                error.to_string(),
            );
        }
    };
    let (bound, at_least, at_most, side) = match allowed {
        Allowed::AtMost(bound) => (bound, None, Some(bound), "at most"),
        Allowed::AtLeast(bound) => (bound, Some(bound), None, "at least"),
    };
    let (verdict, more) = match interval.judge(at_least, at_most) {
        Bound::Passed => (RegressionVerdict::Passed, String::new()),
        Bound::NotYet => (RegressionVerdict::Regression, String::new()),
        Bound::Inconclusive { further_steps } => (
            RegressionVerdict::Inconclusive,
            further_steps.map_or(String::new(), |steps| {
                format!("; about {steps} further steps on each side should settle it")
            }),
        ),
    };
    let [value, low, high, bound] = [interval.value, interval.low, interval.high, bound]
        .map(Share)
        .map(percent);
    let message =
        format!("{value} of the baseline ({low} to {high}); allowed: {side} {bound}{more}");
    (verdict, Some(interval.value), Some(interval), message)
}

/// Judges figures that a run has once and that hardly scatter. The worst run counts.
fn exact(today: Option<f64>, baseline: Option<f64>, tolerance: f64) -> JudgedFigure {
    let (Some(today), Some(baseline)) = (today, baseline) else {
        let message = "not reported on both sides".into();
        return (RegressionVerdict::NotCompared, None, None, message);
    };
    // A loss that is not finite is worse than any other. A ratio would not say so.
    if !today.is_finite() {
        let message = format!("{today} instead of {baseline}");
        return (RegressionVerdict::Regression, None, None, message);
    }
    let ratio = today / baseline;
    let verdict = if today <= baseline * (1.0 + tolerance) {
        RegressionVerdict::Passed
    } else {
        RegressionVerdict::Regression
    };
    let message = format!(
        "{} of the baseline ({today} for {baseline}); allowed: at most {}",
        percent(Share(ratio)),
        percent(Share(1.0 + tolerance))
    );
    (verdict, ratio.is_finite().then_some(ratio), None, message)
}

/// Returns the largest value, or a value that is not finite if there is one. `None` unless every run reports it.
fn worst(runs: &[RunFigures], value: impl Fn(&RunFigures) -> Option<f64>) -> Option<f64> {
    let values = runs.iter().map(value).collect::<Option<Vec<f64>>>()?;
    let nan = values.iter().copied().find(|value| value.is_nan());
    nan.or(values.into_iter().reduce(f64::max))
}

#[cfg(test)]
mod tests;
