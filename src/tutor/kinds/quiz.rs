//! A question with one right answer.

use super::*;
use crate::say;
use tinyllama_lesson::quiz::NumberQuestion;
use tinyllama_lesson::{Quiz, QuizChoice};
use tinyllama_session::AnswerGiven;

impl StepBehavior for Quiz {
    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        match self {
            Quiz::Choices(choices) => {
                let primary = PrimaryAction::Choose {
                    does: "answer",
                    first: "Move to an answer first, with the arrow keys or its number.",
                    by_digit: true,
                };
                let menu = Block::Menu(menu(self, choices, context));
                (asked_output(self, context).chain([menu]).collect(), primary)
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
                let blocks = asked_output(self, context).chain(last_answer(self, number, context));
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
}

/// Returns the output that the question is about, as its own step shows it.
fn asked_output(quiz: &Quiz, context: &StepContext) -> impl Iterator<Item = Block> {
    let of = quiz.asked_step();
    let output = of.and_then(|of| {
        let mut steps = context.lesson.steps.iter();
        let step = steps.find(|step| step.id == of.step)?;
        let title = format!("From \"{}\"", step.title);
        command::output(step.as_command()?, &title, of, context.measured)
    });
    output
        .map(|output| [output, Block::Blank])
        .into_iter()
        .flatten()
}

/// Returns the choices in the learner's order, with the comment on the last answer.
fn menu(quiz: &Quiz, choices: &[QuizChoice], context: &StepContext) -> Vec<MenuLine> {
    // A right answer stays right, even if a command's output differs today.
    let right = context.progress.answers.iter().rfind(|given| given.correct);
    let right = right.map(|given| (QuizAnswer::Choice(given.answer as usize), true));
    let marked = context.marked.map(|marked| (marked.answer, marked.correct));
    let marked = marked.or(right);
    let order = quiz.order(&context.state.identity, context.at);
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
        let comment = correct.map(|_| itertools::join([word].into_iter().chain(because), " "));
        MenuLine {
            text: choice.text.clone(),
            mark,
            comment: comment.unwrap_or_default(),
            does: "answer",
            act: MenuAction::Give(Given::Answer(act)),
        }
    });
    lines.collect()
}

/// Shows the last answer and its verdict.
fn last_answer(quiz: &Quiz, number: &NumberQuestion, context: &StepContext) -> Vec<Block> {
    let Some(last) = context.progress.answers.last() else {
        return Vec::new();
    };
    let (answer, correct) = (last.answer, last.correct);
    // The right answer may stand in a command's output.
    let is_near = match quiz.resolved(context.measured) {
        Some(Quiz::Number(number)) => number.near_miss(answer).is_some(),
        _ => false,
    };
    let verdict = match correct {
        true => "right",
        false if is_near => "close, but not yet right",
        false => "not so",
    };
    let because = match context.marked {
        Some(marked) => &*marked.because,
        None if correct => &number.because,
        None => "",
    };
    vec![
        Block::News,
        Block::Verdict(correct, format!("Your answer {answer}: {verdict}")),
        Block::Markdown(because.into()),
    ]
}
