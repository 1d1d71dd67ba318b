//! Signs that a learner needs help.

use serde::Serialize;

use tinyllama_lesson::Step;
use tinyllama_session::{StepProgress, StepStatus};

/// From this many missed checks or wrong answers of a step, a learner counts as stuck.
const MANY: u32 = 3;

/// From this many minutes without a record, a learner with an open tutor counts as idle.
const LONG_IDLE: f64 = 10.0;

/// A step that takes more than this many times its expected time counts as slow.
const SLOW: f64 = 3.0;

/// A sign that a learner needs help.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "sign", rename_all = "snake_case")]
pub enum Sign {
    ChecksMissed { times: u32 },
    WrongAnswers { times: u32 },
    AllHintsUsed { hints: usize },
    Idle { minutes: f64 },
    Slow { minutes: f64, expected: f64 },
}

impl Sign {
    pub fn in_words(&self) -> String {
        match self {
            Sign::ChecksMissed { times } => format!("missed checks {times} times"),
            Sign::WrongAnswers { times } => format!("{times} wrong answers"),
            Sign::AllHintsUsed { hints } => format!("used all {hints} hints"),
            Sign::Idle { minutes } => format!("idle for {minutes:.0} min"),
            Sign::Slow { minutes, expected } => {
                format!("{minutes:.0} min on a step of about {expected:.0}")
            }
        }
    }
}

/// Finds signs for a learner at an unfinished step.
///
/// `idle` is the time since the last record in minutes. It is set if the tutor is open and no run is in progress.
pub fn signs(step: &Step, progress: &StepProgress, idle: Option<f64>) -> Vec<Sign> {
    let mut signs = Vec::new();
    if progress.status == StepStatus::Open {
        let missed: u32 = progress.checks.values().map(|check| check.missed).sum();
        let wrong = progress
            .answers
            .iter()
            .filter(|answer| !answer.correct)
            .count() as u32;
        let minutes = progress.seconds / 60.0;
        let expected = step.estimated_minutes();
        let hints = step.hints.len();
        let found = [
            (missed >= MANY).then_some(Sign::ChecksMissed { times: missed }),
            (wrong >= MANY).then_some(Sign::WrongAnswers { times: wrong }),
            (hints > 0 && progress.hints.len() == hints).then_some(Sign::AllHintsUsed { hints }),
            (minutes > SLOW * expected).then_some(Sign::Slow { minutes, expected }),
        ];
        signs.extend(found.into_iter().flatten());
    }
    signs.extend(
        idle.filter(|minutes| *minutes >= LONG_IDLE)
            .map(|minutes| Sign::Idle { minutes }),
    );
    signs
}
