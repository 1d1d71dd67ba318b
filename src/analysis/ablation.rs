//! Measures what each switch of a target is worth, alone and together, by a full factorial experiment.
//!
//! Every combination of switches runs once a round. A round is a block: what all its runs share drops out. The rest is
//! the scatter of combinations within rounds. It is the error of every effect and has (combinations - 1)(rounds - 1)
//! degrees of freedom.
//!
//! Effects are differences of mean log times over all combinations (Montgomery, "Design and Analysis of Experiments",
//! chapter 6). Ten effects at 95 % each would raise a false alarm in two of five experiments. Therefore each interval is
//! widened until all of them together hold with the stated confidence (Bonferroni).

use serde::Serialize;

use super::relative::USUAL_MARGIN;
use tinyllama_base::statistics::{Basis, Finding, Interval, half_width, median};

/// A combination of switches: bit `i` says that switch `i` is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States(usize);

impl States {
    /// Returns every combination of `switches` switches. The first one has none of them on.
    pub fn all_states(switches: usize) -> impl Iterator<Item = States> {
        (0..1_usize << switches).map(States)
    }

    fn has(self, switch: usize) -> bool {
        self.0 >> switch & 1 == 1
    }

    /// Returns the names of the switches that are on.
    pub fn switched_on(self, switches: &[String]) -> Vec<String> {
        let switches = switches.iter().enumerate();
        let on = switches.filter(|(at, _)| self.has(*at));
        on.map(|(_, name)| name.clone()).collect()
    }

    /// Formats each switch as a flag of a run: `--qkv-fusion=on`.
    pub fn flags(self, switches: &[String]) -> Vec<String> {
        let switches = switches.iter().enumerate();
        let state = |at| if self.has(at) { "on" } else { "off" };
        switches
            .map(|(at, name)| format!("--{name}={}", state(at)))
            .collect()
    }
}

/// A combination and its step time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Combination {
    pub on: Vec<String>,
    /// Median of the rounds' medians.
    pub step_ms: f64,
    pub step_ms_of_rounds: Vec<f64>,
    /// Time with every switch off over time with this combination.
    pub speedup: f64,
}

/// The change in time by switching on, averaged over all states of the other switches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchEffect {
    /// One switch for a main effect, two for an interaction.
    pub switches: Vec<String>,
    /// Main effect: time on over time off. Interaction: that ratio of the first switch with the second on, over the same
    /// ratio with the second off. Below 1 the two help each other.
    pub time_ratio: f64,
    /// Null if the scatter of the runs is not known.
    pub interval: Option<Interval>,
    pub finding: Option<Finding>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablation {
    pub target: String,
    pub rounds: usize,
    /// Confidence that all intervals hold together.
    pub confidence: f64,
    pub combinations: Vec<Combination>,
    pub main_effects: Vec<SwitchEffect>,
    pub interactions: Vec<SwitchEffect>,
    /// One standard deviation among equal runs of a round, as a share of the time. Null if it is not known.
    pub scatter: Option<f64>,
}

/// Why no effects can be computed.
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
    #[error("combination {combination} has a step time that is not a positive number")]
    NotPositive { combination: usize },
}

/// Computes effects from `times[combination][round]`, median step times in milliseconds.
///
/// # Errors
/// Fails if a combination or a round is missing, or a time is not a positive number.
pub fn analyse(
    target: &str,
    switches: &[String],
    times: &[Vec<f64>],
    confidence: f64,
) -> Result<Ablation, AblationError> {
    let rounds = check(switches.len(), times)?;
    let logs: Vec<Vec<f64>> = times
        .iter()
        .map(|runs| runs.iter().map(|ms| ms.ln()).collect())
        .collect();
    let means: Vec<f64> = logs.iter().map(|runs| mean(runs)).collect();
    let error = scatter(&logs, &means, switches.len());
    let several = |count: u32| {
        let all = States::all_states(switches.len());
        all.filter(move |states| states.0.count_ones() == count)
    };
    let effects = several(1).count() + several(2).count();
    let reading = AblationMeans {
        switches,
        means: &means,
        rounds,
        error,
        quantile_at: 1.0 - (1.0 - confidence) / effects as f64,
        confidence,
    };
    let effect = |states| reading.effect(states);
    let mut interactions: Vec<States> = several(2).collect();
    // Sorts pairs by their first switch, then by the second.
    interactions.sort_by_key(|states| (states.0.trailing_zeros(), states.0));
    Ok(Ablation {
        target: target.to_string(),
        rounds,
        confidence,
        combinations: combinations(switches, times),
        main_effects: several(1).map(effect).collect(),
        interactions: interactions.into_iter().map(effect).collect(),
        scatter: error.map(|error| error.variance.sqrt()),
    })
}

fn check(switches: usize, times: &[Vec<f64>]) -> Result<usize, AblationError> {
    if switches == 0 {
        return Err(AblationError::NoSwitch);
    }
    let rounds = times.first().map_or(0, Vec::len);
    for combination in 0..1 << switches {
        let times = times.get(combination).map_or(&[][..], Vec::as_slice);
        if times.is_empty() || times.len() != rounds {
            return Err(AblationError::Incomplete {
                combination,
                runs: times.len(),
                rounds,
            });
        }
        if !times.iter().all(|ms| ms.is_finite() && *ms > 0.0) {
            return Err(AblationError::NotPositive { combination });
        }
    }
    Ok(rounds)
}

fn combinations(switches: &[String], times: &[Vec<f64>]) -> Vec<Combination> {
    let middle = |runs: &[f64]| median(runs).unwrap_or(f64::NAN);
    let with_times = States::all_states(switches.len()).zip(times);
    with_times
        .map(|(states, runs)| Combination {
            on: states.switched_on(switches),
            step_ms: middle(runs),
            step_ms_of_rounds: runs.clone(),
            speedup: middle(&times[0]) / middle(runs),
        })
        .collect()
}

/// Variance of one log time, and the degrees of freedom of that estimate.
#[derive(Clone, Copy)]
struct ErrorVariance {
    variance: f64,
    freedom: f64,
}

/// Estimates the scatter within rounds. A single round has none, so effects of three and more switches, which are seldom
/// real, take its place.
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
    // The variance of an effect here is that of one log time over the number of combinations.
    let squares: f64 = high_order.iter().map(|effect| effect.powi(2)).sum();
    Some(ErrorVariance {
        variance: squares / high_order.len() as f64 * combinations as f64,
        freedom: high_order.len() as f64,
    })
}

/// Sums the means, each times the signs of the effect's switches: +1 if on, -1 if off.
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

struct AblationMeans<'a> {
    switches: &'a [String],
    means: &'a [f64],
    rounds: usize,
    error: Option<ErrorVariance>,
    /// Confidence of a single interval.
    quantile_at: f64,
    confidence: f64,
}

impl AblationMeans<'_> {
    /// Computes a difference for one switch, and a difference of differences for two.
    fn effect(&self, states: States) -> SwitchEffect {
        let scale = f64::from(2 * states.0.count_ones());
        let combinations = self.means.len() as f64;
        let log_ratio = scale / combinations * contrast(self.means, states.0);
        let interval = self.error.map(|error| {
            let runs = combinations * self.rounds as f64;
            let deviation = (scale.powi(2) * error.variance / runs).sqrt();
            let half_width = half_width(self.quantile_at, error.freedom, deviation);
            let (basis, counted) = (Basis::Combinations, (0, self.rounds));
            Interval::from_log_ratio(log_ratio, half_width, self.confidence, basis, counted)
        });
        SwitchEffect {
            switches: states.switched_on(self.switches),
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
