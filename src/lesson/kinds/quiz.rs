//! A question with one right answer.

use super::*;
use crate::contradictions::quiz_problems;
use crate::document::{ChoiceDocument, NumberDocument};
use crate::quiz::NumberQuestion;
use crate::{Condition, Mistake, OutputFigure, QuizChoice};

pub(super) const KEYS: StepKeys = StepKeys {
    may: &["choices", "number", "of"],
    ..StepKeys::NONE
};

impl StepContent for Quiz {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let of = reader.run_name(step.of.as_deref().unwrap_or(&step.id));
        match (&step.choices, &step.number) {
            (Some(choices), None) => {
                let choices = choices.iter().enumerate();
                let choices = choices
                    .map(|(i, written)| choice(reader, format!("choices/{i}"), written, &of));
                choices.collect::<Option<_>>().map(Quiz::Choices)
            }
            (None, Some(written)) => number(reader, written, &of).map(Quiz::Number),
            _ => {
                reader.refuse("", "a `quiz` step needs either `choices` or `number`");
                None
            }
        }
    }

    fn minutes(&self, step: &Step) -> (f64, f64) {
        match self {
            // Every learner reads all choices and the right one's reason. Every second learner also reads a wrong one's
            // reason.
            Quiz::Choices(choices) => {
                let read = choices.iter().map(|choice| {
                    let share = if choice.correct { 1.0 } else { 0.25 };
                    word_count(&choice.text) + share * word_count(&choice.because)
                });
                (THOUGHT_MINUTES, read.sum())
            }
            Quiz::Number(number) => {
                let hints = step.hints.iter().map(|hint| word_count(&hint.text));
                let read = word_count(&number.because) + hints.sum::<f64>() / 2.0;
                (2.0 * THOUGHT_MINUTES, read)
            }
        }
    }

    fn demands(&self) -> Vec<Demand<'_>> {
        let faults = quiz_problems(self).into_iter();
        let faults = faults.map(|(path, message)| Demand::Fault(path, message));
        let output = self.asked_step().map(Demand::OutputBefore);
        faults.chain(output).collect()
    }

    fn looks_back(&self) -> Vec<&StepRef> {
        self.asked_step().into_iter().collect()
    }

    fn mark(&self, answer: QuizAnswer, outputs: &dyn CommandOutputs) -> Option<MarkedAnswer> {
        Quiz::mark_answer(&self.resolved(outputs)?, answer)
    }

    fn answer_text(&self, answer: f64) -> String {
        match self {
            Quiz::Choices(choices) => {
                let chosen = (answer >= 0.0 && answer.fract() == 0.0).then_some(answer as usize);
                let chosen = chosen.and_then(|index| choices.get(index));
                chosen.map_or_else(|| answer.to_string(), |choice| choice.text.clone())
            }
            Quiz::Number(number) => format!("{answer} {}", number.unit).trim_end().into(),
        }
    }
}

pub(super) fn choice(
    reader: &mut StepReader,
    path: String,
    choice: &ChoiceDocument,
    of: &StepRef,
) -> Option<QuizChoice> {
    let when = choice.when.as_deref();
    let when = when.map(|when| Condition::parse(when, of)).transpose();
    let when = reader.or_refuse(&format!("{path}/when"), when);
    Some(QuizChoice {
        text: reader.settled(&path, &choice.text),
        correct: choice.correct,
        when: when?,
        because: reader.settled(&path, &choice.because),
    })
}

fn number(
    reader: &mut StepReader,
    number: &NumberDocument,
    of: &StepRef,
) -> Option<NumberQuestion> {
    let path = "number";
    let read = number
        .read
        .as_deref()
        .map(|read| OutputFigure::parse(read, of));
    let read = reader.or_refuse(path, read.transpose())?;
    if number.answer.is_some() == read.is_some() {
        let message = "a number needs either its `answer` or where to `read` it";
        reader.refuse(path, message);
        return None;
    }
    let mistakes = number.mistakes.iter().map(|mistake| Mistake {
        value: mistake.value,
        because: reader.settled(path, &mistake.because),
    });
    let mistakes = mistakes.collect();
    Some(NumberQuestion {
        answer: number.answer.unwrap_or(f64::NAN),
        read,
        tolerance: number.tolerance,
        exact: number.exact,
        unit: number.unit.clone(),
        because: reader.settled(path, &number.because),
        mistakes,
    })
}
