//! A kernel to write: an exercise of the workbench.

use super::*;
use tinyllama_base::wrapped;
use tinyllama_lesson::kinds::kernel::KernelStep;

impl StepBehavior for KernelStep {
    fn actions(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::Edit, "edit"),
            (Action::Machine, "machine"),
            (Action::Solution, "solution"),
            (Action::Occupancy, "occupancy"),
            (Action::Bench, "time it"),
            (Action::Reset, "begin anew"),
            (Action::Check, "check"),
        ]
    }

    fn edits(&self) -> Option<Editable> {
        Some(Editable::Kernel)
    }

    fn figures(&self) -> Option<Figures> {
        Some(Figures::Kernel)
    }

    /// Shows the task and the path of the file.
    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        let exercise = self.exercise;
        let heads = exercise.launches.iter().map(|launch| {
            let head = wrapped(&exercise.signature(launch), 52).join("\n    ");
            format!("{head};\n")
        });
        let heads: String = heads.collect();
        let task = format!("{}\n\n```cpp\n{heads}```\n", exercise.text);
        let file = context.workbench.join(exercise.file_name());
        let blocks = vec![Block::Markdown(task), Block::File(file)];
        (blocks, PrimaryAction::Kernel)
    }
}
