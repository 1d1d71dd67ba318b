//! A profiler's command, run here or elsewhere.

use super::*;
use tinyllama_profile::commands::ProfileTask;

#[derive(Clone, Debug)]
pub struct ProfileStep {
    pub task: ProfileTask,
    /// How to install the tool, as the last hint: most learners import the sample and never need it.
    installing: [String; 1],
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
        let installing = [tool.how_to_install().to_owned()];
        Some(Self { task, installing })
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (4.0, 0.0)
    }

    fn hints(&self) -> &[String] {
        &self.installing
    }
}
