//! A number to guess before it is measured.

use super::*;
use crate::say;
use tinyllama_lesson::kinds::predict::PredictStep;
use tinyllama_runs::MetricUnit;

impl StepBehavior for PredictStep {
    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        if let Some(guess) = say::guess(&self.measure, Some(&context.progress), context.measured) {
            return (
                vec![Block::News, Block::Markdown(guess)],
                PrimaryAction::Next,
            );
        }
        let comes = "Your guess comes before the measurement: there is no wrong one.";
        let question = Question {
            does: "guess",
            title: format!("Your guess, in {}", unit_name(self.measure.unit())),
            explain: "A number. The first guess counts; any is better than none.",
            prompt: "Type your guess, a number.".into(),
            text: None,
        };
        (vec![Block::text(comes)], PrimaryAction::Ask(question))
    }

    fn parse(&self, text: &str) -> Result<Given, String> {
        say::figure(text).map(Given::Guess)
    }

    fn solution(&self, at: StepRef, golden: &Golden) -> Option<SessionEvent> {
        golden
            .number
            .map(|value| SessionEvent::Predicted { at, value })
    }
}

/// Returns the unit of a number that the learner types.
fn unit_name(unit: MetricUnit) -> String {
    match unit {
        MetricUnit::Milliseconds => "ms".into(),
        MetricUnit::Bytes => "bytes".into(),
        MetricUnit::PerSecond(what) => format!("{what}/s"),
        MetricUnit::Count(what) => what.into(),
        MetricUnit::Nats => "nats".into(),
        MetricUnit::One => "times".into(),
    }
}
