//! Runs side by side.

use super::*;
use tinyllama_base::or_not_reported;
use tinyllama_lesson::Runs;
use tinyllama_lesson::kinds::compare::CompareStep;
use tinyllama_runs::Statistic;

impl StepBehavior for CompareStep {
    fn figures(&self) -> Option<Figures> {
        Some(Figures::Comparison)
    }

    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        let lines = self.metrics.iter().map(|metric| {
            let runs = self.runs.iter().zip(&self.titles);
            let values = runs.map(|(name, title)| {
                let newest = context.measured.measurements(name).pop();
                let value = newest.and_then(|run| run.value(*metric, Statistic::Median));
                let value = or_not_reported(value.map(|value| metric.unit().show(value)));
                format!(" \"{title}\" {value};")
            });
            format!("{}:{}", metric.in_words(), values.collect::<String>())
        });
        let blocks = vec![
            Block::text(format!("Side by side: {}.", self.titles.join(", "))),
            Block::Figures(itertools::join(lines, "\n")),
        ];
        (blocks, PrimaryAction::Compare)
    }
}
