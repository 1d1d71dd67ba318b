//! Searches for the flags with which a target runs fastest on this device, and stores them.
//!
//! Every candidate runs once. The best of them run again, in turns with the usual flags. Only the second measurements
//! decide, because the candidates were chosen for their first ones. A candidate whose losses differ from the usual ones is
//! wrong, however fast it is.

mod stored;

use serde::Serialize;

pub use stored::{BLOCK_SIZE, TakenOver, Tuned, TunedTarget};

use super::runner::MeasuredRun;

/// Alternatives for one choice, as flags such as `--block-size=rmsnorm=256`. A run takes one of them or none.
pub type FlagChoice = Vec<String>;

/// Flags to try together. Without any, the target runs as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlagSet {
    pub flags: Vec<String>,
}

impl FlagSet {
    pub fn name(&self) -> String {
        if self.flags.is_empty() {
            "as usual".into()
        } else {
            self.flags.join(" ")
        }
    }

    fn with_flag(&self, flag: &str) -> Self {
        let mut flags = self.flags.clone();
        flags.push(flag.to_string());
        FlagSet { flags }
    }
}

/// How the search covers the choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchStrategy {
    /// Every combination.
    Exhaustive,
    /// Every flag alone, then the best of each choice together. Block sizes of different kernels hardly depend on each
    /// other.
    OneByOne,
}

/// Lists what to run first: the usual flags, then every combination if there are at most `most`, otherwise every flag
/// alone.
pub fn candidates(choices: &[FlagChoice], most: usize) -> (SearchStrategy, Vec<FlagSet>) {
    let combinations = choices
        .iter()
        .try_fold(1_usize, |all, choice| all.checked_mul(choice.len() + 1));
    let mut all = vec![FlagSet::default()];
    if combinations.is_some_and(|combinations| combinations <= most) {
        for choice in choices {
            let without = all.clone();
            for flag in choice {
                all.extend(without.iter().map(|candidate| candidate.with_flag(flag)));
            }
        }
        return (SearchStrategy::Exhaustive, all);
    }
    let alone = choices.iter().flatten();
    all.extend(alone.map(|flag| FlagSet::default().with_flag(flag)));
    (SearchStrategy::OneByOne, all)
}

/// A candidate that ran once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriedCandidate {
    #[serde(flatten)]
    pub candidate: FlagSet,
    /// Null if it did not run.
    pub step_ms: Option<f64>,
    /// Why the candidate cannot win. Null if it may.
    pub wrong: Option<String>,
}

/// How many candidates are measured again.
const FINALISTS: usize = 3;

/// Picks the candidates to measure again, in turns with the usual flags. Empty if none looked faster.
pub fn finalists(
    search: SearchStrategy,
    choices: &[FlagChoice],
    tried: &[TriedCandidate],
) -> Vec<FlagSet> {
    let usual = tried
        .iter()
        .find(|tried| tried.candidate.flags.is_empty())
        .and_then(|tried| tried.step_ms);
    let Some(usual) = usual else {
        return vec![];
    };
    let mut faster: Vec<(&FlagSet, f64)> = tried
        .iter()
        .filter(|tried| tried.wrong.is_none() && !tried.candidate.flags.is_empty())
        .filter_map(|tried| Some((&tried.candidate, tried.step_ms?)))
        .filter(|(_, ms)| *ms < usual)
        .collect();
    faster.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut finalists: Vec<FlagSet> = Vec::new();
    if search == SearchStrategy::OneByOne {
        let best_of = |choice: &FlagChoice| -> Option<String> {
            let (best, _) = faster.iter().find(|(candidate, _)| {
                matches!(candidate.flags.as_slice(), [flag] if choice.contains(flag))
            })?;
            best.flags.first().cloned()
        };
        let together = FlagSet {
            flags: choices.iter().filter_map(best_of).collect(),
        };
        if together.flags.len() > 1 {
            finalists.push(together);
        }
    }
    finalists.extend(faster.into_iter().map(|(candidate, _)| candidate.clone()));
    finalists.truncate(FINALISTS);
    finalists
}

/// Explains why a run does not compute what the usual run computes. Returns `None` if it does.
pub fn disagreement(run: &MeasuredRun, usual: &MeasuredRun) -> Option<String> {
    let [with, all] = [run, usual].map(|run| run.summary.parameters_with_gradient);
    if with != all {
        return Some(format!(
            "{} parameters have a gradient instead of {}",
            with.map_or("unknown".into(), |with| with.to_string()),
            all.map_or("unknown".into(), |all| all.to_string())
        ));
    }
    if run.steps.len() != usual.steps.len() {
        return Some("it ran another number of steps".into());
    }
    let losses = |run: &MeasuredRun| -> Vec<(usize, f64)> {
        run.steps.iter().map(|step| (step.n, step.loss)).collect()
    };
    let short = run.hello.dtype != "f32" || usual.hello.dtype != "f32";
    losses_apart(&losses(run), &losses(usual), short)
}

/// Finds the first step whose losses differ by more than rounding explains.
fn losses_apart(ours: &[(usize, f64)], usual: &[(usize, f64)], short: bool) -> Option<String> {
    let first = usual.first()?.1.abs();
    ours.iter().zip(usual).find_map(|((n, ours), (_, usual))| {
        // `<=` is false for NaN, so NaN counts as a disagreement.
        let agrees = (ours - usual).abs() / first <= tolerance(short, *n);
        (!agrees).then(|| format!("its loss at step {n} is {ours} instead of {usual}"))
    })
}

/// Allowed difference of losses at step `n`, as a share of the first loss. Sums in another order may cause that much.
///
/// Early steps differ by rounding alone (4e-6 was seen with tf32 products), and a wrong kernel shows there. While the loss
/// falls fastest, rounding moves it for some steps: 8e-4 was seen at step 14, and 1e-5 again at step 43. AdamW's moments
/// divide small numbers by small ones and move it further. Operands of 16 bits round more.
fn tolerance(short: bool, n: usize) -> f64 {
    match (short, n) {
        (true, _) => 3e-2,
        (false, ..=8) => 1e-3,
        (false, _) => 1e-2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(name: &str, sizes: &[usize]) -> FlagChoice {
        sizes
            .iter()
            .map(|size| format!("--block-size={name}={size}"))
            .collect()
    }

    fn tried(flags: &[&str], step_ms: f64, wrong: bool) -> TriedCandidate {
        TriedCandidate {
            candidate: FlagSet {
                flags: flags.iter().map(ToString::to_string).collect(),
            },
            step_ms: Some(step_ms),
            wrong: wrong.then(|| "wrong".into()),
        }
    }

    #[test]
    fn rounding_is_no_disagreement_and_a_wrong_kernel_is_one() {
        let usual: Vec<(usize, f64)> = (4..=43)
            .map(|n| (n, 7.0 * (-(n as f64) / 12.0).exp()))
            .collect();
        let with = |change: &dyn Fn(usize) -> f64| -> Vec<(usize, f64)> {
            usual
                .iter()
                .map(|(n, loss)| (*n, loss + change(*n)))
                .collect()
        };
        // As seen on a GPU: almost no difference at first, 6e-3 while the loss falls fastest.
        let rounded = with(&|n| if (12..18).contains(&n) { 6e-3 } else { 2e-5 });
        assert_eq!(losses_apart(&rounded, &usual, false), None);
        let early = losses_apart(&with(&|_| 0.02), &usual, false);
        assert!(early.is_some_and(|text| text.contains("step 4 ")));
        let late = losses_apart(&with(&|n| if n > 20 { 0.2 } else { 0.0 }), &usual, false);
        assert!(late.is_some_and(|text| text.contains("step 21 ")));
        let lost = with(&|n| if n == 30 { f64::NAN } else { 0.0 });
        assert!(losses_apart(&lost, &usual, true).is_some());
    }

    #[test]
    fn small_spaces_are_gone_through_and_large_ones_flag_by_flag() {
        let choices = [choice("a", &[32, 64]), choice("b", &[32, 64, 128])];
        let (search, all) = candidates(&choices, 12);
        assert_eq!((search, all.len()), (SearchStrategy::Exhaustive, 12));
        let mut names: Vec<String> = all.iter().map(FlagSet::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 12, "{names:?}");
        let (search, all) = candidates(&choices, 11);
        assert_eq!((search, all.len()), (SearchStrategy::OneByOne, 6));
        assert_eq!(all[0], FlagSet::default());
    }

    #[test]
    fn the_best_of_each_choice_are_tried_together_and_wrong_ones_never() {
        let choices = [choice("a", &[32, 64]), choice("b", &[32])];
        let runs = [
            tried(&[], 10.0, false),
            tried(&["--block-size=a=32"], 9.0, false),
            tried(&["--block-size=a=64"], 5.0, true),
            tried(&["--block-size=b=32"], 9.5, false),
        ];
        let best = finalists(SearchStrategy::OneByOne, &choices, &runs);
        assert_eq!(best[0].flags, ["--block-size=a=32", "--block-size=b=32"]);
        assert_eq!(best.len(), 3);
        assert!(
            !best
                .iter()
                .any(|candidate| candidate.name().contains("a=64"))
        );
        assert!(finalists(SearchStrategy::OneByOne, &choices, &runs[..1]).is_empty());
        assert!(
            finalists(SearchStrategy::OneByOne, &choices, &runs[1..]).is_empty(),
            "no usual run"
        );
    }
}
