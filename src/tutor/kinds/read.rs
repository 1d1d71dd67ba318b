//! Markdown to read.

use super::*;
use tinyllama_lesson::kinds::read::ReadStep;

impl StepBehavior for ReadStep {
    fn actions(&self) -> &'static [(Action, &'static str)] {
        &[(Action::Follow, "links"), (Action::Explain, "words")]
    }

    fn document(&self, _: &StepContext) -> (Vec<Block>, PrimaryAction) {
        (Vec::new(), PrimaryAction::Next)
    }
}
