//! Runs side by side.

use super::*;
use crate::analysis::{Metric, Statistic};
use crate::lesson::Runs;
use tinyllama_base::or_not_reported;

#[derive(Clone, Debug)]
pub struct CompareStep {
    /// The first one is the baseline.
    pub runs: Vec<RunName>,
    pub metrics: Vec<Metric>,
}

pub(super) const FACTS: Facts = Facts {
    needs: &["runs", "metrics"],
    may: &["checks"],
    figures: Some(Figures::Comparison),
    ..Facts::NONE
};

impl StepBehavior for CompareStep {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let metrics = step.metrics.as_ref()?.iter().enumerate();
        let metrics: Vec<_> = metrics
            .map(|(i, name)| reader.or_refuse(&format!("metrics/{i}"), name.parse()))
            .collect();
        let runs = step.runs.as_ref()?.iter();
        Some(Self {
            runs: runs.map(|run| reader.run_name(run)).collect(),
            metrics: metrics.into_iter().collect::<Option<_>>()?,
        })
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (0.5, 0.0)
    }

    fn is_done(&self, _: &StepProgress, _: &SessionState) -> bool {
        true
    }

    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        let names: Vec<&str> = self.runs.iter().map(|run| run.step.as_str()).collect();
        let lines = self.metrics.iter().map(|metric| {
            let values = self.runs.iter().map(|name| {
                let newest = context.measured.measurements(name).pop();
                let value = newest.and_then(|run| run.value(*metric, Statistic::Median));
                let value = or_not_reported(value.map(|value| metric.unit().show(value)));
                format!(" {} {value};", name.step)
            });
            format!("{metric}:{}", values.collect::<String>())
        });
        let blocks = vec![
            Block::text(format!("Side by side: {}.", names.join(", "))),
            Block::Figures(itertools::join(lines, "\n")),
        ];
        (blocks, PrimaryAction::Compare)
    }

    fn validate(&self, check: &mut LessonCheck, at: &str, index: usize) {
        if self.runs.len() < 2 {
            check.refuse(&format!("{at}/runs"), "comparing needs at least two runs");
        }
        for (i, run) in self.runs.iter().enumerate() {
            if !check.is_made(run, index) {
                let message = format!("no run of this name comes before: `{run}`");
                check.refuse(&format!("{at}/runs/{i}"), message);
            }
        }
    }

    fn looks_back(&self) -> Vec<&RunName> {
        self.runs.iter().collect()
    }
}
