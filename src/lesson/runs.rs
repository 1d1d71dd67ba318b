//! The runs whose figures checks and texts use.

use tinyllama_runs::Measurements;

use crate::{CommandOutputs, StepRef};

/// What a learner's steps came to: the runs and the documents of commands.
pub trait Results: Runs + CommandOutputs {}

impl<T: Runs + CommandOutputs> Results for T {}

/// The source of a check's runs.
pub trait Runs {
    /// Runs of a step, oldest first, with the same command and the same machine as the newest one.
    fn measurements(&self, name: &StepRef) -> Vec<&Measurements>;

    /// Number of rounds in which these two were run in turns, up to the newest runs of both.
    fn rounds(&self, above: &StepRef, below: &StepRef) -> usize {
        let _ = (above, below);
        0
    }

    /// Number of counted steps in the shortest run of a step, with any command.
    fn shortest(&self, name: &StepRef) -> usize {
        let _ = name;
        usize::MAX
    }

    /// Place and time of the recording; `None` for runs of this machine.
    fn recorded(&self, name: &StepRef) -> Option<&str> {
        let _ = name;
        None
    }
}
