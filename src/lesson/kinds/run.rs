//! A training run.

use super::*;

#[derive(Clone, Debug)]
pub struct RunStep {
    /// True if the class competes for the fastest correct step.
    pub contest: bool,
}

pub(super) const KEYS: StepKeys = StepKeys {
    needs: &["target"],
    may: &[
        "flags",
        "editable",
        "contest",
        "recording",
        "on_gpu",
        "checks",
        "golden",
    ],
    golden: "flags",
};

impl StepContent for RunStep {
    fn read(_: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let contest = step.contest.unwrap_or(false);
        Some(Self { contest })
    }

    fn minutes(&self, step: &Step) -> (f64, f64) {
        let minutes = match (self.contest, step.editable) {
            (true, _) => 10.0,
            (false, true) => 3.0,
            (false, false) => RUN_MINUTES,
        };
        (minutes, 0.0)
    }

    fn job(&self, step: &Step) -> Option<Job> {
        step.target.clone().map(Job::Run)
    }
}
