//! A recording next to a run of this machine: the recording of the other step takes the place of that run.

use std::sync::Arc;

use tinyllama_runs::recording::Library;
use tinyllama_runs::{FinishedRun, Measurements};

use crate::{Quantity, Runs, StepRef};

/// Runs in which an earlier run of this machine is replaced by its step's recording, made where the compared run was
/// recorded.
pub(super) struct WithRecordedPartner<'a> {
    runs: &'a dyn Runs,
    partner: &'a StepRef,
    recording: Arc<FinishedRun>,
    origin: &'a str,
}

impl<'a> WithRecordedPartner<'a> {
    /// Returns `None` if nothing has to be replaced, or there is no recording that suits.
    pub fn find(quantity: &'a Quantity, runs: &'a dyn Runs) -> Option<Self> {
        let below = quantity.denominator.as_ref()?;
        let above = &quantity.numerator;
        let (origin, made_here) = match (runs.recorded(&above.run), runs.recorded(&below.run)) {
            (Some(origin), None) => (origin, below),
            (None, Some(origin)) => (origin, above),
            _ => return None,
        };
        runs.measurements(&made_here.run).last()?;
        let (recording, its_origin) = Library::built_in(made_here.recording.as_deref()?)?;
        (its_origin == origin).then_some(Self {
            runs,
            partner: &made_here.run,
            recording,
            origin,
        })
    }
}

impl Runs for WithRecordedPartner<'_> {
    fn measurements(&self, name: &StepRef) -> Vec<&Measurements> {
        match name == self.partner {
            true => vec![&self.recording.measurements],
            false => self.runs.measurements(name),
        }
    }

    fn shortest(&self, name: &StepRef) -> usize {
        match name == self.partner {
            true => usize::MAX,
            false => self.runs.shortest(name),
        }
    }

    fn recorded(&self, name: &StepRef) -> Option<&str> {
        match name == self.partner {
            true => Some(self.origin),
            false => self.runs.recorded(name),
        }
    }
}
