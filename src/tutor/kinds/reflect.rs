//! A question without one right answer: the learner writes for the report.

use super::*;
use tinyllama_lesson::kinds::reflect::ReflectStep;

impl StepBehavior for ReflectStep {
    fn actions(&self) -> &'static [(Action, &'static str)] {
        &[(Action::Edit, "in your editor")]
    }

    fn edits(&self) -> Option<Editable> {
        Some(Editable::Text)
    }

    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        let blocks = match context.progress.written() {
            Some(text) => vec![
                Block::News,
                Block::strong("You wrote:"),
                Block::Quote(Tone::Plain, text.into()),
            ],
            None => vec![Block::text("Nothing written yet.")],
        };
        let question = Question {
            does: "write",
            title: "For your report".into(),
            explain: "Esc keeps what you wrote.",
            prompt: "Type your answer in one line.".into(),
            text: Some(context.progress.written().unwrap_or_default().into()),
        };
        (blocks, PrimaryAction::Ask(question))
    }

    fn parse(&self, text: &str) -> Result<Given, String> {
        Ok(Given::Text(text.into()))
    }

    fn solution(&self, at: StepRef, golden: &Golden) -> Option<SessionEvent> {
        let text = golden.text.as_ref()?.trim().into();
        Some(SessionEvent::Reflected { at, text })
    }
}
