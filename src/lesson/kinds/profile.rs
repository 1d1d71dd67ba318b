//! A profiler's command, run here or elsewhere.

use super::*;
use tinyllama_profile::commands::ProfileTask;

#[derive(Clone, Debug)]
pub struct ProfileStep {
    pub task: ProfileTask,
}

pub(super) const KEYS: StepKeys = StepKeys {
    needs: &["tool", "target", "golden"],
    may: &["task", "flags", "checks"],
    golden: "import",
};

impl StepContent for ProfileStep {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let tool = step.tool?;
        let task = reader.or_refuse("task", tool.task(step.task.as_deref()))?;
        Some(Self { task })
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (4.0, 0.0)
    }
}
