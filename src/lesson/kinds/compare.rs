//! Runs side by side.

use super::*;
use tinyllama_runs::Metric;

#[derive(Clone, Debug)]
pub struct CompareStep {
    /// The first one is the baseline.
    pub runs: Vec<StepRef>,
    /// Titles of the runs' steps; their ids until the whole course is read.
    pub titles: Vec<String>,
    pub metrics: Vec<Metric>,
}

pub(super) const KEYS: StepKeys = StepKeys {
    needs: &["runs", "metrics"],
    may: &["checks"],
    ..StepKeys::NONE
};

impl StepContent for CompareStep {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let metrics = step.metrics.as_ref()?.iter().enumerate();
        let metrics: Vec<_> = metrics
            .map(|(i, name)| reader.or_refuse(&format!("metrics/{i}"), name.parse()))
            .collect();
        let runs = step.runs.as_ref()?.iter();
        let runs: Vec<StepRef> = runs.map(|run| reader.run_name(run)).collect();
        Some(Self {
            titles: runs.iter().map(|run| run.step.clone()).collect(),
            runs,
            metrics: metrics.into_iter().collect::<Option<_>>()?,
        })
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (0.5, 0.0)
    }

    fn demands(&self) -> Vec<Demand<'_>> {
        let too_few = (self.runs.len() < 2)
            .then(|| Demand::Fault("runs".into(), "comparing needs at least two runs".into()));
        let runs = self.runs.iter().enumerate();
        let runs = runs.map(|(i, run)| Demand::RunBefore(format!("runs/{i}"), run));
        too_few.into_iter().chain(runs).collect()
    }

    fn looks_back(&self) -> Vec<&StepRef> {
        self.runs.iter().collect()
    }
}
