//! How a learner does each kind of step. A kind is one file here with an implementation of [`StepBehavior`], its `mod`
//! line, and its line in [`behavior`]. What a step of the kind consists of is in the lesson's `kinds`.

mod command;
mod compare;
mod investigate;
mod kernel;
mod predict;
mod profile;
mod quiz;
mod read;
mod reflect;
mod run;

use crate::Action;
use crate::document::{
    Block, Editable, Figures, Given, Mark, MenuAction, MenuLine, PrimaryAction, Question,
    StepContext, Tone,
};
use tinyllama_lesson::kinds::StepKind;
use tinyllama_lesson::{Golden, MarkedAnswer, QuizAnswer, Step};
use tinyllama_session::{SessionEvent, StepRef, StepStatus};

/// The behavior of a step kind. Every kind needs the methods without a default.
pub trait StepBehavior {
    /// Returns the blocks below the step's text, and the effect of Enter until the step is done.
    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction);

    /// Returns the keys in the command bar, with their effects.
    fn actions(&self) -> &'static [(Action, &'static str)] {
        &[]
    }

    /// Returns the part of the step that the learner can edit.
    fn edits(&self) -> Option<Editable> {
        None
    }

    /// Returns the content of the step's figures.
    fn figures(&self) -> Option<Figures> {
        None
    }

    /// Returns the event that the golden path records, if it needs no run. An instructor who solves the step records
    /// the same.
    fn solution(&self, _at: StepRef, _golden: &Golden) -> Option<SessionEvent> {
        None
    }

    /// Parses the learner's input, or explains its fault.
    fn parse(&self, text: &str) -> Result<Given, String> {
        Err(format!("`{text}` is not understood; `help` lists what is"))
    }
}

/// Returns how a learner does a step.
pub fn behavior(step: &Step) -> &dyn StepBehavior {
    match &step.kind {
        StepKind::Read(step) => step,
        StepKind::Predict(step) => step,
        StepKind::Run(step) => step,
        StepKind::Command(step) => step,
        StepKind::Investigate(case) => case,
        StepKind::Compare(step) => step,
        StepKind::Profile(step) => step,
        StepKind::Quiz(quiz) => quiz,
        StepKind::Kernel(step) => step,
        StepKind::Reflect(step) => step,
    }
}

impl StepContext<'_> {
    /// Returns the blocks below the step's text, and the effect of Enter.
    pub fn document(&self) -> (Vec<Block>, PrimaryAction) {
        let (blocks, primary) = behavior(self.step).document(self);
        match self.progress.status {
            StepStatus::Done => (blocks, PrimaryAction::Next),
            _ => (blocks, primary),
        }
    }

    /// Returns the lines that can be chosen.
    pub fn menu(&self) -> Vec<MenuLine> {
        let mut blocks = self.document().0.into_iter();
        let menu = blocks.find_map(|block| match block {
            Block::Menu(lines) => Some(lines),
            _ => None,
        });
        menu.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ProfileView;
    use tinyllama_lesson::{Course, CourseSource};
    use tinyllama_session::progress::is_task_done;
    use tinyllama_session::{MeasuredRuns, SessionState, StepProgress};

    #[test]
    fn enter_asks_for_nothing_that_a_step_cannot_take() {
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let (state, measured) = (SessionState::default(), MeasuredRuns::default());
        let profile = ProfileView::default();
        for (lesson, step) in course.steps() {
            let at = StepRef::new(&lesson.id, &step.id);
            let context = StepContext {
                lesson,
                step,
                at: &at,
                progress: StepProgress::default(),
                state: &state,
                measured: &measured,
                marked: None,
                flags: step.flags.clone(),
                profile: &profile,
                workbench: "kernels".as_ref(),
            };
            let (blocks, primary) = context.document();
            let is_sound = match primary {
                PrimaryAction::Next => is_task_done(step, &context.progress, &state),
                PrimaryAction::Choose { .. } => !context.menu().is_empty(),
                PrimaryAction::Ask(_) => behavior(step).parse("1").is_ok(),
                PrimaryAction::Start(_) => {
                    let shows_job = blocks.iter().any(|block| matches!(block, Block::Job(_)));
                    step.job().is_some() && shows_job
                }
                PrimaryAction::Compare | PrimaryAction::Kernel | PrimaryAction::Profile => {
                    behavior(step).figures().is_some()
                }
            };
            assert!(is_sound, "{at}");
        }
    }
}
