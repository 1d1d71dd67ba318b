//! A kernel to write: an exercise of the workbench.

use super::*;
use crate::workbench::{self, Exercise};
use tinyllama_base::wrapped;

#[derive(Clone, Debug)]
pub struct KernelStep {
    pub exercise: &'static Exercise,
}

pub(super) const FACTS: Facts = Facts {
    needs: &["exercise"],
    actions: &[
        (Action::Edit, "in your editor"),
        (Action::Solution, "solution"),
        (Action::Reset, "begin anew"),
        (Action::Bench, "time it"),
        (Action::Machine, "machine"),
        (Action::Check, "check"),
    ],
    edits: Some(Editable::Kernel),
    figures: Some(Figures::Kernel),
    ..Facts::NONE
};

impl StepBehavior for KernelStep {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let exercise = workbench::find(step.exercise.as_deref()?);
        let exercise = reader.or_refuse("exercise", exercise)?;
        Some(Self { exercise })
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (10.0, 0.0)
    }

    fn is_done(&self, progress: &StepProgress, _: &SessionState) -> bool {
        progress.kernel_passed
    }

    /// Shows the task and the path of the file.
    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        let exercise = self.exercise;
        let heads = exercise.launches.iter().map(|launch| {
            let head = wrapped(&exercise.signature(launch), 70).join("\n    ");
            format!("{head};\n")
        });
        let heads: String = heads.collect();
        let task = format!("{}\n\n```cpp\n{heads}```\n", exercise.text);
        let file = context.workbench.join(exercise.file_name());
        let blocks = vec![Block::Markdown(task), Block::File(file)];
        (blocks, PrimaryAction::Kernel)
    }

    fn hints(&self) -> &[String] {
        &self.exercise.hints
    }
}
