//! Repeats two runs in turns until it is clear which one is faster, or that the difference is too small to see.

use super::runs::MOST_ROUNDS;
use super::{CheckResultText, MeasuredRuns, RunEntry, SessionState, Standing, StepRef};
use tinyllama_contract::flags::{Flag, RunSpec, UsageError};
use tinyllama_lesson::{Case, Course, FIXED, Job, Runs, Step};
use tinyllama_runs::{Launcher, Metric, RunStart};

/// Milliseconds of counted steps. In a shorter run, chance decides which time slices of a shared device its
/// steps get.
const SHORT_MS: f64 = 1000.0;
/// Most steps that a run which is too short is extended to.
const MOST_STEPS: f64 = 1000.0;

/// The next action at a step whose effect is undecided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnAction {
    /// Repeats both compared runs, in this order, as the round of this number.
    Again {
        runs: [Repeat; 2],
        round: usize,
        /// True if the step can only be completed with the result.
        required: bool,
    },
    /// All useful rounds were made.
    Enough(String),
}

/// A run to repeat at its step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    pub at: StepRef,
    pub target: String,
    pub flags: Vec<String>,
}

impl Repeat {
    /// The same run with `steps` steps.
    fn with_steps(mut self, steps: usize) -> Self {
        let steps = [format!("--num-steps={steps}")];
        let spec = RunSpec::parse(&self.target, &self.flags);
        if let Ok(spec) = spec.and_then(|spec| spec.surrounded_by(&[], &steps)) {
            self.flags = spec.given().iter().flat_map(Flag::args).cloned().collect();
        }
        self
    }
}

/// Starts both runs as one round.
///
/// # Errors
/// If a target does not take its flags.
pub fn starts(launcher: &Launcher, runs: &[Repeat; 2]) -> Result<[RunStart; 2], UsageError> {
    let spec = |run: &Repeat| RunSpec::parse(&run.target, &run.flags);
    let [first, second] = runs;
    Ok(launcher.start_in_turns([&spec(first)?, &spec(second)?]))
}

/// Number of steps with which both runs measure long enough, or `None` if they do already.
/// If one of the runs was extended, the other gets the same length, so that checks with a common run come to an end.
/// If both are as short as in their lessons, the slower one decides the number.
pub(super) fn steps(measured: &MeasuredRuns, names: [&StepRef; 2]) -> Option<usize> {
    if names.iter().any(|name| measured.is_longer(name)) {
        let [a, b] = [measured.asked(names[0])?, measured.asked(names[1])?];
        // A learner may have trained for an hour; a round need not be that long.
        return (a != b).then_some(a.max(b).min(MOST_STEPS as usize));
    }
    let times = |name| measured.measurements(name).last()?.series(Metric::TotalMs);
    let [a, b] = [times(names[0])?, times(names[1])?];
    let slower = a.median().max(b.median());
    let made = a.values().len().max(b.values().len()) as f64;
    let steps = (2.0 * SHORT_MS / slower).min(MOST_STEPS);
    (made * slower < SHORT_MS && steps > made).then_some(steps as usize)
}

/// The next round, or `None` if more rounds cannot decide anything. An effect that is not required gets rounds only
/// if the learner asked for them (`asked`), so that no one has to wait.
pub fn next(
    course: &Course,
    state: &SessionState,
    measured: &MeasuredRuns,
    step: &Step,
    checked: &[CheckResultText],
    asked: bool,
) -> Option<TurnAction> {
    let mut enough = None;
    for (check, checked) in step.checks.iter().zip(checked) {
        let Some([above, below]) = check
            .measure
            .compared()
            .filter(|_| checked.is_worth_rounds && (checked.required || asked))
        else {
            continue;
        };
        let (first, second) = match measured.newest_number(above) < measured.newest_number(below) {
            true => (above, below),
            false => (below, above),
        };
        let again = |name| newest_repeat(course, state, measured, name);
        let (Some(first), Some(second)) = (again(first), again(second)) else {
            continue;
        };
        let (rounds, runs) = match steps(measured, [above, below]) {
            // No runs of this length exist yet.
            Some(steps) => (0, [first, second].map(|run| run.with_steps(steps))),
            None => (measured.rounds(above, below), [first, second]),
        };
        if rounds < MOST_ROUNDS {
            let round = rounds + 1;
            let required = checked.required;
            return Some(TurnAction::Again {
                runs,
                round,
                required,
            });
        }
        enough = Some(TurnAction::Enough(format!(
            "Undecided after {rounds} rounds in turns: on this machine the runs differ from each other by more than the effect."
        )));
    }
    enough
}

/// The newest run of a name, to repeat. `None` for a recording, for a run that failed at its last try, and in an
/// unsolved case, where each run costs the learner.
fn newest_repeat(
    course: &Course,
    state: &SessionState,
    measured: &MeasuredRuns,
    name: &StepRef,
) -> Option<Repeat> {
    let step = name.step.strip_suffix(FIXED).unwrap_or(&name.step);
    let at = StepRef::new(&name.lesson, step);
    let step = course.step(&at.lesson, &at.step)?;
    let is_solved =
        |case: &Case| Standing::from_progress(case, &state.progress(&at), state).is_solved(case);
    let Some(Job::Run(target)) = step.job().filter(|_| step.as_case().is_none_or(is_solved)) else {
        return None;
    };
    let newest = measured.newest(name)?;
    let failed = |run: &RunEntry| run.exit.is_none_or(|exit| !exit.is_success());
    let tries = state.step(&at.lesson, &at.step)?.runs.iter().rev();
    let failed_since = tries
        .take_while(|id| *id != newest)
        .any(|id| state.runs.get(id).is_none_or(failed));
    if failed_since || measured.recorded(name).is_some() {
        return None;
    }
    Some(Repeat {
        at,
        target,
        flags: state.runs.get(newest)?.flags().cloned().collect(),
    })
}
