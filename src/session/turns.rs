//! Effects that conclude: two runs in turns, until it can be said which is faster or how far it cannot.

use super::{Checked, MeasuredRuns, State, StepRef};
use crate::lesson::{Course, Runs, Step, StepKind};

/// Rounds after which the machine is told to be too restless.
const MOST_ROUNDS: usize = 6;

/// What comes next at a step whose effect is compared with an earlier run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The earlier step once more with these flags, then this one; the number of the round.
    Again {
        at: StepRef,
        flags: Vec<String>,
        round: usize,
    },
    /// As many rounds as make sense were made.
    Enough(String),
}

/// None where nothing is left open that more rounds could decide.
pub fn next(
    course: &Course,
    state: &State,
    measured: &MeasuredRuns,
    at: &StepRef,
    step: &Step,
    checked: &[Checked],
) -> Option<Turn> {
    let StepKind::Run {
        against: Some(against),
        ..
    } = &step.kind
    else {
        return None;
    };
    let is_recorded = measured.recorded(at).is_some() || measured.recorded(against).is_some();
    if is_recorded || !checked.iter().any(|checked| checked.wants_more) {
        return None;
    }
    let rounds = measured.rounds(at, against);
    if rounds >= MOST_ROUNDS {
        return Some(Turn::Enough(format!(
            "Undecided after {rounds} rounds in turns: on this machine the runs differ from each other by more than the effect."
        )));
    }
    course.step(&against.lesson, &against.step)?;
    let last = state.progress(against).runs.last().cloned()?;
    let flags = state.runs.get(&last)?.flags();
    Some(Turn::Again {
        at: against.clone(),
        flags: flags.cloned().collect(),
        round: rounds + 1,
    })
}
