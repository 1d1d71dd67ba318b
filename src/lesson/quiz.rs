//! Questions with one right answer, and an explanation for every wrong one.

use sha2::{Digest, Sha256};

use crate::{CommandOutputs, Condition, Mistake, OutputFigure, RunName};

/// Number of wrong numbers after which the way to the right one is shown.
pub const TRIES: usize = 3;

/// A question; its wording is the step's text.
#[derive(Clone, Debug, PartialEq)]
pub enum Quiz {
    Choices(Vec<QuizChoice>),
    Number(NumberQuestion),
}

#[derive(Clone, Debug, PartialEq)]
pub struct QuizChoice {
    pub text: String,
    pub correct: bool,
    /// The condition on a command's output under which this choice is right. If no condition holds, the
    /// `correct` choice is.
    pub when: Option<Condition>,
    pub because: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NumberQuestion {
    /// NaN until it is read from a command's output.
    pub answer: f64,
    pub read: Option<OutputFigure>,
    /// Largest accepted difference as a share of the answer.
    pub tolerance: f64,
    pub unit: String,
    /// The way to the answer.
    pub because: String,
    /// Wrong numbers from typical mistakes.
    pub mistakes: Vec<Mistake>,
}

/// A learner's answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QuizAnswer {
    /// Index of a choice, from 0.
    Choice(usize),
    Number(f64),
}

/// An answer, whether it is right, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkedAnswer {
    pub answer: QuizAnswer,
    pub correct: bool,
    pub because: String,
}

impl QuizAnswer {
    /// The number that events store: the answer, or the index of a choice.
    pub fn as_number(self) -> f64 {
        match self {
            QuizAnswer::Choice(index) => index as f64,
            QuizAnswer::Number(value) => value,
        }
    }
}

impl Quiz {
    /// Marks an answer. Returns `None` for an answer of the other type, or a choice that the quiz does not have.
    /// A wrong number is explained only if it is a typical mistake; for others the explanation would reveal
    /// the answer.
    pub fn mark_answer(&self, answer: QuizAnswer) -> Option<MarkedAnswer> {
        let (correct, because) = match (self, answer) {
            (Quiz::Choices(choices), QuizAnswer::Choice(index)) => {
                let choice = choices.get(index)?;
                (choice.correct, choice.because.as_str())
            }
            (Quiz::Number(number), QuizAnswer::Number(value)) if number.accepts(value) => {
                (true, number.because.as_str())
            }
            (Quiz::Number(number), QuizAnswer::Number(value)) => {
                let mistake = number.mistake(value);
                (false, mistake.map_or("", |mistake| &mistake.because))
            }
            _ => return None,
        };
        Some(MarkedAnswer {
            answer,
            correct,
            because: because.trim().into(),
        })
    }

    /// The right answer; `None` until it is read from an output.
    pub fn solution(&self) -> Option<QuizAnswer> {
        match self {
            Quiz::Choices(choices) => choices
                .iter()
                .position(|choice| choice.correct)
                .map(QuizAnswer::Choice),
            Quiz::Number(number) => {
                (!number.answer.is_nan()).then_some(QuizAnswer::Number(number.answer))
            }
        }
    }

    /// The step whose output contains the right answer; `None` if the question itself contains it.
    pub fn asked_step(&self) -> Option<&RunName> {
        self.figures().next().map(|figure| &figure.step)
    }

    /// The figures of an output on which the right answer depends.
    pub fn figures(&self) -> impl Iterator<Item = &OutputFigure> {
        let (choices, number) = match self {
            Quiz::Choices(choices) => (&choices[..], None),
            Quiz::Number(number) => (&[][..], number.read.as_ref()),
        };
        let conditions = choices.iter().filter_map(|choice| choice.when.as_ref());
        conditions.flat_map(Condition::figures).chain(number)
    }

    /// The quiz with the right answer read from the outputs. `None` if an output is missing or does not contain it.
    pub fn resolved(&self, outputs: &dyn CommandOutputs) -> Option<Quiz> {
        let mut quiz = self.clone();
        match &mut quiz {
            Quiz::Choices(choices) if self.asked_step().is_some() => {
                let mut holds = None;
                for (index, choice) in choices.iter().enumerate() {
                    if let Some(when) = &choice.when
                        && when.holds(outputs)?
                    {
                        holds.get_or_insert(index);
                    }
                }
                if let Some(right) = holds {
                    for (index, choice) in choices.iter_mut().enumerate() {
                        choice.correct = index == right;
                    }
                }
            }
            Quiz::Number(number) => {
                if let Some(figure) = &number.read {
                    number.answer = figure.number(outputs)?;
                }
            }
            Quiz::Choices(_) => {}
        }
        Some(quiz)
    }

    /// The choices in the order for this learner: shuffled, but the same each time.
    pub fn order(&self, learner: &str, question: &RunName) -> Vec<usize> {
        let Quiz::Choices(choices) = self else {
            return Vec::new();
        };
        let mut order: Vec<usize> = (0..choices.len()).collect();
        order.sort_by_cached_key(|index| {
            Sha256::digest(format!("{learner}\n{question}\n{index}")).to_vec()
        });
        order
    }
}

impl NumberQuestion {
    fn accepts(&self, value: f64) -> bool {
        (value - self.answer).abs() <= self.tolerance * self.answer.abs()
    }

    fn mistake(&self, value: f64) -> Option<&Mistake> {
        // A learner may round the wrong number; the mistake is the same.
        let is_near = |mistake: &&Mistake| {
            (value - mistake.value).abs() <= self.tolerance.max(0.01) * mistake.value.abs()
        };
        self.mistakes.iter().find(is_near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_right_within_its_tolerance_and_never_when_it_is_none() {
        let quiz = Quiz::Number(NumberQuestion {
            answer: 200.0,
            read: None,
            tolerance: 0.05,
            unit: String::new(),
            because: "so".into(),
            mistakes: vec![Mistake {
                value: 100.0,
                because: "half".into(),
            }],
        });
        for (value, correct) in [
            (200.0, true),
            (209.9, true),
            (190.1, true),
            (211.0, false),
            (f64::NAN, false),
            (f64::INFINITY, false),
        ] {
            assert_eq!(
                quiz.mark_answer(QuizAnswer::Number(value)).unwrap().correct,
                correct,
                "{value}"
            );
        }
        let because = |value| quiz.mark_answer(QuizAnswer::Number(value)).unwrap().because;
        assert_eq!(because(99.5), "half");
        assert_eq!(because(300.0), "", "the way would be the answer");
        assert_eq!(quiz.mark_answer(QuizAnswer::Choice(0)), None);
        assert!(quiz.mark_answer(quiz.solution().unwrap()).unwrap().correct);
    }

    #[test]
    fn a_wrong_choice_comes_with_its_own_reason() {
        let choice = |correct, because: &str| QuizChoice {
            text: String::new(),
            correct,
            when: None,
            because: because.into(),
        };
        let quiz = Quiz::Choices(vec![choice(false, "no"), choice(true, "yes")]);
        assert_eq!(
            quiz.mark_answer(QuizAnswer::Choice(0)).unwrap(),
            MarkedAnswer {
                answer: QuizAnswer::Choice(0),
                correct: false,
                because: "no".into()
            }
        );
        assert_eq!(quiz.mark_answer(QuizAnswer::Choice(2)), None);
        assert_eq!(quiz.solution(), Some(QuizAnswer::Choice(1)));
    }
}
