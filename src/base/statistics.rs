//! Medians with their uncertainty, for step times that are skewed, have outliers and depend on the step before.
//!
//! The uncertainty of a median is its bootstrap standard error. For a median that error has a closed form (Maritz and
//! Jarrett, "A note on estimating the variance of the sample median", JASA 73, 1978). So nothing is drawn at random,
//! and the same steps always give the same answer.
//!
//! Successive steps are not independent. The error is therefore multiplied by the square root of the autocorrelation
//! time of the steps' signs about their median, estimated as in Geyer, "Practical Markov chain Monte Carlo",
//! Statistical Science 7, 1992.
//!
//! Intervals are two-sided. They use Student's t with Welch's degrees of freedom on the logarithm of the ratio,
//! because a ratio and its inverse must give the same answer.

mod finding;
mod rounds;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;
use thiserror::Error;

pub use finding::Finding;
pub use rounds::ratio_in_rounds;

/// A series with fewer steps is compared only if [`FEW_INDEPENDENT_STEPS`] of them are independent.
pub const LEAST_DEPENDENT_STEPS: usize = 20;

/// With fewer independent steps than this, a series says too little about the error of its median. The error is then
/// at least `WANDERING` times the distance to the far end of the middle four fifths of the steps. So only
/// differences well beyond the spread within the runs count.
pub const FEW_INDEPENDENT_STEPS: f64 = 8.0;

/// Equal programs are called faster in under 6 % of comparisons with this value, for 20 to 200 steps that keep 0.6 to
/// 0.95 of the previous deviation. The tests measure it.
const WANDERING: f64 = 2.0;

/// From this many runs of each side, the spread between runs replaces the spread within one.
pub const LEAST_RUNS: usize = 3;

/// Upper limit for a proposed number of further steps.
const MOST_FURTHER_STEPS: f64 = 10_000.0;

/// Reasons why numbers are not a series of measurements.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SeriesError {
    #[error("there is no measured step")]
    Empty,
    #[error("measured step {position} is not a finite number above zero")]
    NotPositive { position: usize },
}

/// Positive, finite measurements in the order they were taken. There is at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    values: Vec<f64>,
    sorted: Vec<f64>,
}

impl Series {
    /// Creates a series.
    ///
    /// # Errors
    /// If the list is empty, or a value is not finite and above zero.
    pub fn new(values: Vec<f64>) -> Result<Self, SeriesError> {
        if values.is_empty() {
            return Err(SeriesError::Empty);
        }
        let bad = values
            .iter()
            .position(|value| !value.is_finite() || *value <= 0.0);
        if let Some(index) = bad {
            return Err(SeriesError::NotPositive {
                position: index + 1,
            });
        }
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        Ok(Self { values, sorted })
    }

    /// The measurements in their original order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Mean after removing the share `cut` (0 to 0.5) of the measurements at each end.
    pub fn trimmed_mean(&self, cut: f64) -> f64 {
        let left_out = (self.sorted.len() as f64 * cut) as usize;
        let kept = &self.sorted[left_out..self.sorted.len() - left_out];
        kept.iter().sum::<f64>() / kept.len() as f64
    }

    /// Value below which the share `p` (0 to 1) of the measurements lies, with linear interpolation.
    pub fn quantile(&self, p: f64) -> f64 {
        interpolated(&self.sorted, p)
    }

    /// (p90 - p10) / median: the relative width of the middle four fifths of the steps.
    pub fn relative_spread(&self) -> f64 {
        (self.quantile(0.9) - self.quantile(0.1)) / self.median()
    }

    /// Effective number of independent steps: their number divided by the autocorrelation time.
    pub fn independent_steps(&self) -> f64 {
        self.values.len() as f64 / autocorrelation_time(&self.values, self.median())
    }

    /// Variance of the logarithm of the median.
    fn log_median_variance(&self) -> f64 {
        bootstrap_variance_of_median(&self.sorted, f64::ln)
            * autocorrelation_time(&self.values, self.median())
    }
}

/// Value below which the share `p` (0 to 1) of `values` lies, with linear interpolation. Returns `None` for an empty
/// list or one with a value that is not finite.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(interpolated(&sorted, p))
}

pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// ‖a-b‖/‖b‖; infinite if a value is not finite or the lengths differ.
pub fn relative_difference<A, B>(a: &[A], b: &[B]) -> f64
where
    A: Copy + Into<f64>,
    B: Copy + Into<f64>,
{
    let pairs = a.iter().zip(b).map(|(a, b)| ((*a).into(), (*b).into()));
    let (mut difference, mut norm) = (0f64, 0f64);
    for (a, b) in pairs {
        difference += (a - b).powi(2);
        norm += b.powi(2);
    }
    if a.len() != b.len() || !difference.is_finite() || !norm.is_finite() {
        f64::INFINITY
    } else if difference == 0.0 {
        0.0
    } else {
        (difference / norm).sqrt()
    }
}

fn interpolated(sorted: &[f64], p: f64) -> f64 {
    let place = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (low, high) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    low + (high - low) * place.fract()
}

/// The measurements behind an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The steps within one run of each side. Differences between starts of the program are not included.
    Steps,
    /// The medians of several runs of each side.
    Runs,
    /// The ratios of runs that took turns, one per round.
    Rounds,
    /// Runs of every combination of switches, each combination once per round.
    Combinations,
}

/// A value with an interval that contains the true value with the stated confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    /// Two-sided, between 0 and 1.
    pub confidence: f64,
    pub basis: Basis,
    /// Measured steps of the last run on the side with fewer steps.
    pub steps: usize,
    /// Runs on the side with fewer runs.
    pub runs: usize,
}

/// Reasons why two sides cannot be compared.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum CompareError {
    #[error(
        "only {independent:.0} of {steps} measured steps are independent of the ones before; at least {FEW_INDEPENDENT_STEPS} are needed, or {LEAST_DEPENDENT_STEPS} steps in all"
    )]
    TooFewSteps { independent: f64, steps: usize },
    #[error("a confidence must be between 0.5 and 1")]
    Confidence,
    #[error("there is no run to compare")]
    NoRun,
}

/// Interval of median(a) / median(b).
///
/// With [`LEAST_RUNS`] or more runs on both sides it compares the medians of the runs. With fewer, it compares the
/// steps of each side's last run.
pub fn ratio_of_medians(
    a: &[Series],
    b: &[Series],
    confidence: f64,
) -> Result<Interval, CompareError> {
    check_confidence(confidence)?;
    let (Some(last_a), Some(last_b)) = (a.last(), b.last()) else {
        return Err(CompareError::NoRun);
    };
    let steps = last_a.values.len().min(last_b.values.len());
    let runs = a.len().min(b.len());
    if runs >= LEAST_RUNS {
        let (a, b) = (LogMedian::of_runs(a), LogMedian::of_runs(b));
        return Ok(ratio_interval(a, b, confidence, Basis::Runs, (steps, runs)));
    }
    let (a, b) = (LogMedian::of_steps(last_a)?, LogMedian::of_steps(last_b)?);
    Ok(ratio_interval(
        a,
        b,
        confidence,
        Basis::Steps,
        (steps, runs),
    ))
}

/// Interval of the median step time of one run.
pub fn interval_of_median(series: &Series, confidence: f64) -> Result<Interval, CompareError> {
    check_confidence(confidence)?;
    let exactly_one = LogMedian {
        value: 0.0,
        variance: 0.0,
        freedom: 1.0,
        reach: 0.0,
    };
    let median = LogMedian::of_steps(series)?;
    Ok(ratio_interval(
        median,
        exactly_one,
        confidence,
        Basis::Steps,
        (series.values.len(), 1),
    ))
}

/// The conclusion from an interval and a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundVerdict {
    /// The whole interval meets the bound.
    Passed,
    /// The whole interval misses it.
    NotYet,
    /// The interval contains the bound: the spread is larger than the effect.
    Inconclusive {
        /// Further measured steps on each side after which the interval should be narrow enough. `None` if the value
        /// lies so close to the bound that longer measurements cannot help.
        further_steps: Option<usize>,
    },
}

impl Interval {
    /// Builds the interval of a ratio whose logarithm lies within `half_width` of `log`.
    pub fn from_log_ratio(
        log: f64,
        half_width: f64,
        confidence: f64,
        basis: Basis,
        (steps, runs): (usize, usize),
    ) -> Self {
        Interval {
            value: log.exp(),
            low: (log - half_width).exp(),
            high: (log + half_width).exp(),
            confidence,
            basis,
            steps,
            runs,
        }
    }

    /// Judges whether the value lies within `at_least` and `at_most`; either may be open.
    pub fn judge(&self, at_least: Option<f64>, at_most: Option<f64>) -> BoundVerdict {
        let meets = |bound: Option<f64>, low: f64, high: f64| match bound {
            None => BoundVerdict::Passed,
            Some(bound) if low >= bound => BoundVerdict::Passed,
            Some(bound) if high < bound => BoundVerdict::NotYet,
            Some(bound) => BoundVerdict::Inconclusive {
                further_steps: self.further_steps(bound),
            },
        };
        let lower = meets(at_least, self.low, self.high);
        let upper = meets(at_most.map(|bound| -bound), -self.high, -self.low);
        match (lower, upper) {
            (BoundVerdict::NotYet, _) | (_, BoundVerdict::NotYet) => BoundVerdict::NotYet,
            (BoundVerdict::Passed, other) | (other, BoundVerdict::Passed) => other,
            (first, _) => first,
        }
    }

    /// Half of the interval's width, in the logarithm of the ratio.
    pub fn half_width(&self) -> f64 {
        (self.high / self.low).ln() / 2.0
    }

    /// Further measured steps on each side that should separate the value from `bound`. If the basis is runs, these
    /// steps belong to further runs as long as the last one. Longer runs would not say more about how runs differ.
    fn further_steps(&self, bound: f64) -> Option<usize> {
        let distance = (self.value / bound.abs()).ln().abs();
        let further = match self.basis {
            Basis::Steps => self.steps_until(distance)?,
            Basis::Runs | Basis::Rounds | Basis::Combinations => {
                self.runs_until(distance)?.checked_mul(self.steps)?
            }
        };
        (further as f64 <= MOST_FURTHER_STEPS).then_some(further)
    }

    /// Further steps after which the half width should be `wanted`. It shrinks with the square root of their number.
    fn steps_until(&self, wanted: f64) -> Option<usize> {
        let steps = self.steps as f64;
        let further = (steps * (self.half_width() / wanted).powi(2) - steps)
            .ceil()
            .max(1.0);
        (further.is_finite() && further <= MOST_FURTHER_STEPS).then_some(further as usize)
    }
}

/// Logarithm of a median, with its variance and that variance's degrees of freedom.
#[derive(Clone, Copy)]
struct LogMedian {
    value: f64,
    variance: f64,
    freedom: f64,
    /// Lower limit for the error, independent of the variance.
    reach: f64,
}

impl LogMedian {
    fn of_steps(series: &Series) -> Result<Self, CompareError> {
        let (steps, independent) = (series.values.len(), series.independent_steps());
        if independent < FEW_INDEPENDENT_STEPS && steps < LEAST_DEPENDENT_STEPS {
            return Err(CompareError::TooFewSteps { independent, steps });
        }
        let median = series.median();
        let reach = if independent < FEW_INDEPENDENT_STEPS {
            let (low, high) = (series.quantile(0.1), series.quantile(0.9));
            WANDERING * (high / median).ln().max((median / low).ln())
        } else {
            0.0
        };
        Ok(Self {
            value: median.ln(),
            variance: series.log_median_variance(),
            freedom: (independent - 1.0).max(1.0),
            reach,
        })
    }

    /// Mean of the runs' log medians. The caller passes at least [`LEAST_RUNS`] runs.
    fn of_runs(runs: &[Series]) -> Self {
        let n = runs.len() as f64;
        let logs: Vec<f64> = runs.iter().map(|run| run.median().ln()).collect();
        let mean = logs.iter().sum::<f64>() / n;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        Self {
            value: mean,
            variance: squares / (n - 1.0) / n,
            freedom: n - 1.0,
            reach: 0.0,
        }
    }
}

fn ratio_interval(
    a: LogMedian,
    b: LogMedian,
    confidence: f64,
    basis: Basis,
    (steps, runs): (usize, usize),
) -> Interval {
    let log_ratio = a.value - b.value;
    let variance = a.variance + b.variance;
    let freedom =
        variance.powi(2) / (a.variance.powi(2) / a.freedom + b.variance.powi(2) / b.freedom);
    let half_width = half_width(confidence, freedom, variance.sqrt()).max(a.reach + b.reach);
    Interval::from_log_ratio(log_ratio, half_width, confidence, basis, (steps, runs))
}

/// Half width of the two-sided Student's t interval for this standard error.
pub fn half_width(confidence: f64, freedom: f64, error: f64) -> f64 {
    if error > 0.0 {
        student_quantile(0.5 + confidence / 2.0, freedom) * error
    } else {
        0.0
    }
}

/// Student's t below which the share `p` lies.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).map_or(f64::INFINITY, |t| t.inverse_cdf(p))
}

fn check_confidence(confidence: f64) -> Result<(), CompareError> {
    if confidence > 0.5 && confidence < 1.0 {
        Ok(())
    } else {
        Err(CompareError::Confidence)
    }
}

/// Variance of `transform(median)` over all resamples of `sorted`, in closed form.
///
/// The k-th smallest value is a resample's median with the probability that a Beta((n+1)/2, (n+1)/2) variable falls
/// between (k-1)/n and k/n.
fn bootstrap_variance_of_median(sorted: &[f64], transform: impl Fn(f64) -> f64) -> f64 {
    let n = sorted.len() as f64;
    let shape = (n + 1.0) / 2.0;
    let mut below = 0.0;
    let weighted: Vec<(f64, f64)> = sorted
        .iter()
        .enumerate()
        .map(|(k, value)| {
            let up_to = beta_reg(shape, shape, (k as f64 + 1.0) / n);
            let weight = up_to - below;
            below = up_to;
            (weight, transform(*value))
        })
        .collect();
    let mean: f64 = weighted.iter().map(|(weight, value)| weight * value).sum();
    weighted
        .iter()
        .map(|(weight, value)| weight * (value - mean).powi(2))
        .sum()
}

/// Steps after which a series no longer depends on its earlier values; 1 for independent steps.
///
/// It uses the signs about the median. The error of the median depends on these signs, and outliers cannot distort
/// them.
fn autocorrelation_time(values: &[f64], median: f64) -> f64 {
    let n = values.len();
    let signs: Vec<f64> = values
        .iter()
        .map(|value| {
            if *value > median {
                1.0
            } else if *value < median {
                -1.0
            } else {
                0.0
            }
        })
        .collect();
    let mean = signs.iter().sum::<f64>() / n as f64;
    let centred: Vec<f64> = signs.iter().map(|sign| sign - mean).collect();
    let variance: f64 = centred.iter().map(|sign| sign * sign).sum();
    if variance == 0.0 {
        return 1.0;
    }
    // Centring on the series' own mean lowers every estimated correlation by about 1/n for each term.
    let correlation = |lag: usize| {
        let products: f64 = centred
            .iter()
            .zip(&centred[lag..])
            .map(|(a, b)| a * b)
            .sum();
        products / variance + (2 * n - lag) as f64 / (n * n) as f64
    };
    // Sums of neighbouring pairs are positive for a real process, so the first other pair is noise.
    let mut time = 1.0;
    for lag in (1..n / 2).step_by(2) {
        let pair = correlation(lag) + correlation(lag + 1);
        if pair <= 0.0 {
            time += 2.0 * correlation(lag).max(0.0);
            break;
        }
        time += 2.0 * pair;
    }
    time.max(1.0)
}

#[cfg(test)]
mod tests;
