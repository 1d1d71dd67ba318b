//! Markdown to read.

use super::*;

#[derive(Clone, Debug)]
pub struct ReadStep;

pub(super) const FACTS: Facts = Facts {
    actions: &[(Action::Follow, "links"), (Action::Explain, "words")],
    ..Facts::NONE
};

impl StepBehavior for ReadStep {
    fn read(_: &mut StepReader, _: &StepDocument) -> Option<Self> {
        Some(Self)
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn is_done(&self, _: &StepProgress, _: &SessionState) -> bool {
        true
    }

    fn document(&self, _: &StepContext) -> (Vec<Block>, PrimaryAction) {
        (Vec::new(), PrimaryAction::Next)
    }
}
