//! Effects that conclude: two runs in turns, until it can be said which is faster or how far it cannot.

use super::{Checked, MeasuredRuns, Run, Standing, State, StepRef};
use crate::lesson::{Check, Course, FIXED, RunName, Runs, Step, StepKind};

/// Rounds that an effect left open gets, however little hope there is: its first runs may have met other neighbours.
pub const USUAL_ROUNDS: usize = 6;

/// Rounds for one that a few more should decide.
pub const MOST_ROUNDS: usize = 12;

/// What comes next at a step whose effect is left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Both runs that it compares once more, in this order; the number of the round.
    Again { runs: [Repeat; 2], round: usize },
    /// As many rounds as make sense were made.
    Enough(String),
}

/// A run to make once more, where it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    pub at: StepRef,
    pub target: String,
    pub flags: Vec<String>,
}

/// None where nothing is left open that more rounds could decide.
pub fn next(
    course: &Course,
    state: &State,
    measured: &MeasuredRuns,
    step: &Step,
    checked: &[Checked],
) -> Option<Turn> {
    let mut enough = None;
    for (check, checked) in step.checks.iter().zip(checked) {
        let Some((above, below)) = compared(check).filter(|_| checked.worth_rounds > 0) else {
            continue;
        };
        let (first, second) = match measured.newest(above) < measured.newest(below) {
            true => (above, below),
            false => (below, above),
        };
        let again = |name| again(course, state, measured, name);
        let (Some(first), Some(second)) = (again(first), again(second)) else {
            continue;
        };
        let rounds = measured.rounds(above, below);
        if rounds < checked.worth_rounds {
            return Some(Turn::Again {
                runs: [first, second],
                round: rounds + 1,
            });
        }
        enough = Some(Turn::Enough(format!(
            "Undecided after {rounds} rounds in turns: on this machine the runs differ from each other by more than the effect."
        )));
    }
    enough
}

/// The two runs whose ratio a check asks for.
fn compared(check: &Check) -> Option<(&RunName, &RunName)> {
    let (above, below) = (
        &check.measure.numerator,
        check.measure.denominator.as_ref()?,
    );
    (above.run != below.run).then_some((&above.run, &below.run))
}

/// The newest run of a name. None for a recording, for one that failed when it was last tried, and in a case that is not solved,
/// where each run is the learner's to pay.
fn again(
    course: &Course,
    state: &State,
    measured: &MeasuredRuns,
    name: &RunName,
) -> Option<Repeat> {
    let step = name.step.strip_suffix(FIXED).unwrap_or(&name.step);
    let at = StepRef::new(&name.lesson, step);
    let target = match &course.step(&at.lesson, &at.step)?.kind {
        StepKind::Run { target, .. } => target,
        StepKind::Investigate(case)
            if Standing::of(case, &state.progress(&at), state).is_solved(case) =>
        {
            &case.target
        }
        _ => return None,
    };
    let newest = measured.newest(name)?;
    let failed = |run: &Run| run.exit.is_none_or(|exit| !exit.is_success());
    let tries = state.step(&at.lesson, &at.step)?.runs.iter().rev();
    let failed_since = tries
        .take_while(|id| *id > newest)
        .any(|id| state.runs.get(id).is_none_or(failed));
    if failed_since || measured.recorded(name).is_some() {
        return None;
    }
    Some(Repeat {
        at,
        target: target.clone(),
        flags: state.runs.get(newest)?.flags().cloned().collect(),
    })
}
