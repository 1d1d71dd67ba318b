//! A command of the tutor, whose document is checked and asked about.

use super::*;
use tinyllama_lesson::kinds::command::CommandStep;
use tinyllama_lesson::{CommandOutputs, Runs};
use tinyllama_runs::recording::label;
use tinyllama_session::MeasuredRuns;

impl StepBehavior for CommandStep {
    fn actions(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::Again, "run again"),
            (Action::Flags, "flags"),
            (Action::Play, "recording"),
        ]
    }

    fn edits(&self) -> Option<Editable> {
        Some(Editable::Flags)
    }

    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        let mut blocks = vec![Block::Job(context.flags.clone())];
        if context.step.editable {
            blocks.push(Block::Flags);
        }
        blocks.extend([Block::Offer, Block::RunPhase]);
        if let Some(output) = output(self, "It says", context.at, context.measured) {
            blocks.extend([Block::News, output]);
        }
        (blocks, PrimaryAction::Start("run the command"))
    }
}

/// Returns what the command of the step at `at` wrote; `None` before its first run.
pub(super) fn output(
    command: &CommandStep,
    title: &str,
    at: &StepRef,
    measured: &MeasuredRuns,
) -> Option<Block> {
    let document = measured.document(at)?.clone();
    let origin = measured.recorded(at);
    let origin = origin.map_or(String::new(), |origin| format!(" ({})", label(origin)));
    let title = format!("{title}{origin}:");
    Some(Block::Output(title, document, command.shows.clone()))
}
