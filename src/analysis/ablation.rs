//! What each switch of a target is worth, alone and together: a full factorial experiment.
//!
//! Every combination of switches runs once a round. A round is a block: what is common to all its runs drops out, and what
//! is left (the scatter of combinations within rounds) is the error of every effect, with (combinations - 1)(rounds - 1) degrees
//! of freedom. Effects are differences of mean log times over all combinations (Montgomery, "Design and Analysis of
//! Experiments", chapter 6). Ten effects looked at together would bring a false alarm in two of five experiments at 95 %, so
//! each interval is widened until all hold together with the stated confidence (Bonferroni).

use std::ffi::OsString;

use serde::Serialize;

use super::relative::USUAL_MARGIN;
use super::runner::Variant;
use crate::base::statistics::{Basis, Finding, Interval, median, student_quantile};

/// A switch of `run` that is on or off, such as `--qkv-fusion`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Switch {
    /// Without the dashes.
    pub name: String,
}

/// Every combination of `switches` for `target`; bit `i` of its place says whether switch `i` is on.
pub fn variants(target: &str, switches: &[Switch], common: &[OsString]) -> Vec<Variant> {
    (0..1_usize << switches.len())
        .map(|combination| {
            let flags = switches.iter().enumerate().map(|(at, switch)| {
                let state = if is_on(combination, at) { "on" } else { "off" };
                format!("--{}={state}", switch.name).into()
            });
            Variant {
                name: name(switches, combination),
                target: target.to_string(),
                flags: common.iter().cloned().chain(flags).collect(),
            }
        })
        .collect()
}

fn is_on(combination: usize, switch: usize) -> bool {
    combination >> switch & 1 == 1
}

fn name(switches: &[Switch], combination: usize) -> String {
    let on: Vec<&str> = switches
        .iter()
        .enumerate()
        .filter(|(at, _)| is_on(combination, *at))
        .map(|(_, switch)| switch.name.as_str())
        .collect();
    if on.is_empty() {
        "none".into()
    } else {
        on.join(" + ")
    }
}

/// A combination and how long a step takes with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Combination {
    pub on: Vec<String>,
    /// Median over the rounds' medians.
    pub step_ms: f64,
    pub step_ms_of_rounds: Vec<f64>,
    /// Time with nothing switched on over time with this.
    pub speedup: f64,
}

/// What switching on does, averaged over all states of the other switches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// One switch for a main effect, two for an interaction.
    pub switches: Vec<String>,
    /// Main effect: time on over time off. Interaction: that ratio of the first switch with the second on, over the same with
    /// the second off; below 1 they help each other.
    pub time_ratio: f64,
    /// Null where nothing tells how far the runs scatter.
    pub interval: Option<Interval>,
    pub finding: Option<Finding>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablation {
    pub target: String,
    pub rounds: usize,
    /// That all intervals hold together.
    pub confidence: f64,
    pub combinations: Vec<Combination>,
    pub main_effects: Vec<Effect>,
    pub interactions: Vec<Effect>,
    /// Share by which equal runs of a round scatter (one standard deviation); null where it is not known.
    pub scatter: Option<f64>,
}

/// Why an experiment cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AblationError {
    #[error("there is no switch to turn")]
    NoSwitch,
    #[error("combination {combination} has {runs} runs where the others have {rounds}")]
    Incomplete {
        combination: usize,
        runs: usize,
        rounds: usize,
    },
    #[error("combination {combination} has a step time that is no positive number")]
    NotPositive { combination: usize },
}

/// Reads effects from `times[combination][round]`, median step times in milliseconds.
///
/// # Errors
/// When a combination or a round is missing, or a time is no positive number.
pub fn analyse(
    target: &str,
    switches: &[Switch],
    times: &[Vec<f64>],
    confidence: f64,
) -> Result<Ablation, AblationError> {
    let rounds = check(switches, times)?;
    let logs: Vec<Vec<f64>> = times
        .iter()
        .map(|runs| runs.iter().map(|ms| ms.ln()).collect())
        .collect();
    let means: Vec<f64> = logs.iter().map(|runs| mean(runs)).collect();
    let error = scatter(&logs, &means, switches.len());
    let pairs: Vec<(usize, usize)> = (0..switches.len())
        .flat_map(|a| (a + 1..switches.len()).map(move |b| (a, b)))
        .collect();
    let effects = switches.len() + pairs.len();
    let each = 1.0 - (1.0 - confidence) / effects as f64;
    let reading = Reading {
        means: &means,
        rounds,
        error,
        quantile_at: each,
        confidence,
    };
    let named = |at: usize| switches[at].name.clone();
    Ok(Ablation {
        target: target.to_string(),
        rounds,
        confidence,
        combinations: combinations(switches, times),
        main_effects: (0..switches.len())
            .map(|at| reading.effect(vec![named(at)], 1 << at, 2.0))
            .collect(),
        interactions: pairs
            .iter()
            .map(|(a, b)| reading.effect(vec![named(*a), named(*b)], 1 << a | 1 << b, 4.0))
            .collect(),
        scatter: error.map(|error| error.variance.sqrt()),
    })
}

fn check(switches: &[Switch], times: &[Vec<f64>]) -> Result<usize, AblationError> {
    if switches.is_empty() {
        return Err(AblationError::NoSwitch);
    }
    let rounds = times.first().map_or(0, Vec::len);
    for combination in 0..1 << switches.len() {
        let runs = times.get(combination).map_or(0, Vec::len);
        if runs == 0 || runs != rounds {
            return Err(AblationError::Incomplete {
                combination,
                runs,
                rounds,
            });
        }
        if !times[combination]
            .iter()
            .all(|ms| ms.is_finite() && *ms > 0.0)
        {
            return Err(AblationError::NotPositive { combination });
        }
    }
    Ok(rounds)
}

fn combinations(switches: &[Switch], times: &[Vec<f64>]) -> Vec<Combination> {
    let medians: Vec<f64> = times
        .iter()
        .map(|runs| median(runs).unwrap_or(f64::NAN))
        .collect();
    medians
        .iter()
        .enumerate()
        .map(|(combination, step_ms)| Combination {
            on: switches
                .iter()
                .enumerate()
                .filter(|(at, _)| is_on(combination, *at))
                .map(|(_, switch)| switch.name.clone())
                .collect(),
            step_ms: *step_ms,
            step_ms_of_rounds: times[combination].clone(),
            speedup: medians[0] / step_ms,
        })
        .collect()
}

/// Variance of one log time, and the degrees of freedom it was estimated with.
#[derive(Clone, Copy)]
struct ErrorVariance {
    variance: f64,
    freedom: f64,
}

/// Scatter within rounds; with a single round, from the effects of three and more switches, which are seldom real.
fn scatter(logs: &[Vec<f64>], means: &[f64], switches: usize) -> Option<ErrorVariance> {
    let (combinations, rounds) = (logs.len(), logs[0].len());
    if rounds > 1 {
        let grand = mean(means);
        let round_mean = |round: usize| mean_of(logs.iter().map(|runs| runs[round]));
        let round_means: Vec<f64> = (0..rounds).map(round_mean).collect();
        let squares: f64 = logs
            .iter()
            .zip(means)
            .flat_map(|(runs, own)| {
                runs.iter()
                    .zip(&round_means)
                    .map(move |(log, round)| (log - own - round + grand).powi(2))
            })
            .sum();
        let freedom = ((combinations - 1) * (rounds - 1)) as f64;
        return Some(ErrorVariance {
            variance: squares / freedom,
            freedom,
        });
    }
    let high_order: Vec<f64> = (0..1_usize << switches)
        .filter(|effect| effect.count_ones() >= 3)
        .map(|effect| contrast(means, effect) / combinations as f64)
        .collect();
    if high_order.len() < 3 {
        return None;
    }
    // A contrast divided by the number of combinations has this number's part of the variance.
    let squares: f64 = high_order.iter().map(|effect| effect.powi(2)).sum();
    Some(ErrorVariance {
        variance: squares / high_order.len() as f64 * combinations as f64,
        freedom: high_order.len() as f64,
    })
}

/// Sum over combinations, each with the product of the signs of the effect's switches: on is +1, off is -1.
fn contrast(means: &[f64], effect: usize) -> f64 {
    means
        .iter()
        .enumerate()
        .map(|(combination, mean)| {
            let off = effect.count_ones() - (combination & effect).count_ones();
            if off.is_multiple_of(2) { *mean } else { -*mean }
        })
        .sum()
}

struct Reading<'a> {
    means: &'a [f64],
    rounds: usize,
    error: Option<ErrorVariance>,
    /// Confidence of a single interval.
    quantile_at: f64,
    confidence: f64,
}

impl Reading<'_> {
    /// `scale` is 2 for a difference and 4 for a difference of differences.
    fn effect(&self, switches: Vec<String>, effect: usize, scale: f64) -> Effect {
        let combinations = self.means.len() as f64;
        let log_ratio = scale / combinations * contrast(self.means, effect);
        let interval = self.error.map(|error| {
            let deviation =
                (scale.powi(2) * error.variance / (combinations * self.rounds as f64)).sqrt();
            let half_width = if deviation > 0.0 {
                student_quantile(0.5 + self.quantile_at / 2.0, error.freedom) * deviation
            } else {
                0.0
            };
            Interval {
                value: log_ratio.exp(),
                low: (log_ratio - half_width).exp(),
                high: (log_ratio + half_width).exp(),
                confidence: self.confidence,
                basis: Basis::Combinations,
                steps: 0,
                runs: self.rounds,
            }
        });
        Effect {
            switches,
            time_ratio: log_ratio.exp(),
            finding: interval.map(|interval| interval.finding(USUAL_MARGIN)),
            interval,
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    mean_of(values.iter().copied())
}

fn mean_of(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

#[cfg(test)]
mod tests;
