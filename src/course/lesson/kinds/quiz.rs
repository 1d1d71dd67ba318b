//! A question with one right answer.

use super::*;
use crate::lesson::contradictions::quiz_problems;
use crate::lesson::document::{ChoiceDocument, NumberDocument};
use crate::lesson::quiz::NumberQuestion;
use crate::lesson::{Condition, Mistake, OutputFigure, QuizChoice};
use crate::session::AnswerGiven;
use crate::tutor::document::{Mark, Question};
use crate::tutor::say;

pub(super) const FACTS: Facts = Facts {
    needs: &[],
    may: &["choices", "number", "of"],
    golden: "",
    actions: &[],
    edits: None,
    figures: None,
};

impl StepBehavior for Quiz {
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

    fn is_done(&self, progress: &StepProgress, _: &SessionState) -> bool {
        progress.answers.iter().any(|answer| answer.correct)
    }

    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        match self {
            Quiz::Choices(choices) => {
                let primary = PrimaryAction::PaletteAction {
                    does: "answer",
                    first: "Move to an answer first, with the arrow keys or its number.",
                    by_digit: true,
                };
                let menu = Block::Menu(self.menu(choices, context));
                (self.asked_output(context).chain([menu]).collect(), primary)
            }
            Quiz::Number(number) => {
                let unit = match &*number.unit {
                    "" => String::new(),
                    unit => format!(", in {unit}"),
                };
                let question = Question {
                    does: "give a number",
                    title: format!("Your answer{unit}"),
                    explain: "A number, such as 12.5 or 1e3.",
                    prompt: format!("Type a number{unit}."),
                    text: None,
                };
                let blocks = self.asked_output(context).chain(number.last(context));
                (blocks.collect(), PrimaryAction::Ask(question))
            }
        }
    }

    fn parse(&self, text: &str) -> Result<Given, String> {
        let number = say::figure(text)?;
        Ok(Given::Answer(QuizAnswer::Number(number)))
    }

    fn solution(&self, at: StepRef, _: &Golden) -> Option<SessionEvent> {
        let given = AnswerGiven {
            answer: Quiz::solution(self)?.as_number(),
            correct: true,
        };
        Some(SessionEvent::Answered { at, given })
    }

    fn validate(&self, check: &mut LessonCheck, at: &str, index: usize) {
        for (path, message) in quiz_problems(self) {
            check.refuse(&format!("{at}/{path}"), message);
        }
        if let Some(of) = self.asked_step() {
            check.output_before(index, of, at);
        }
    }

    fn looks_back(&self) -> Vec<&RunName> {
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

impl Quiz {
    /// Returns the output that the question is about, as its own step shows it.
    fn asked_output(&self, context: &StepContext) -> impl Iterator<Item = Block> {
        let of = self.asked_step();
        let output = of.and_then(|of| {
            let mut steps = context.lesson.steps.iter();
            let step = steps.find(|step| step.id == of.step)?;
            let title = format!("From \"{}\"", step.title);
            step.as_command()?.output(&title, of, context.measured)
        });
        output
            .map(|output| [output, Block::Blank])
            .into_iter()
            .flatten()
    }

    /// Returns the choices in the learner's order, with the comment on the last answer.
    fn menu(&self, choices: &[QuizChoice], context: &StepContext) -> Vec<MenuLine> {
        // A right answer stays right, even if a command's output differs today.
        let right = context.progress.answers.iter().rfind(|given| given.correct);
        let right = right.map(|given| (QuizAnswer::Choice(given.answer as usize), true));
        let marked = context.marked.map(|marked| (marked.answer, marked.correct));
        let marked = marked.or(right);
        let order = self.order(&context.state.identity, context.at);
        let ordered = order
            .iter()
            .filter_map(|index| Some((*index, choices.get(*index)?)));
        let lines = ordered.map(|(index, choice)| {
            let act = QuizAnswer::Choice(index);
            let correct = marked.filter(|(answer, _)| *answer == act);
            let (mark, word) = match correct {
                None => (Mark::None, ""),
                Some((_, true)) => (Mark::Right, "Right."),
                Some((_, false)) => (Mark::Wrong, "Not so."),
            };
            // Line breaks in the course's file have no meaning here.
            let because = choice.because.split_whitespace();
            let said = correct.map(|_| itertools::join([word].into_iter().chain(because), " "));
            MenuLine {
                text: choice.text.clone(),
                mark,
                said: said.unwrap_or_default(),
                does: "answer",
                act: MenuAction::Give(Given::Answer(act)),
            }
        });
        lines.collect()
    }
}

impl NumberQuestion {
    /// Shows the last answer and its verdict.
    fn last(&self, context: &StepContext) -> Vec<Block> {
        let Some(last) = context.progress.answers.last() else {
            return Vec::new();
        };
        let (answer, correct) = (last.answer, last.correct);
        let word = if correct { "right" } else { "not so" };
        let because = match context.marked {
            Some(marked) => &*marked.because,
            None if correct => &self.because,
            None => "",
        };
        vec![
            Block::News,
            Block::Verdict(correct, format!("Your answer {answer}: {word}")),
            Block::Markdown(because.into()),
        ]
    }
}

pub(super) fn choice(
    reader: &mut StepReader,
    path: String,
    choice: &ChoiceDocument,
    of: &RunName,
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
    of: &RunName,
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
        unit: number.unit.clone(),
        because: reader.settled(path, &number.because),
        mistakes,
    })
}
