//! Questions with one right answer, and an explanation for every wrong one.

use sha2::{Digest, Sha256};

use crate::{CommandOutputs, Condition, Mistake, OutputFigure, StepRef};

/// Number of wrong numbers after which the way to the right one is shown.
pub const TRIES: usize = 3;

/// Significant digits that a rounded answer needs.
const LEAST_DIGITS: usize = 2;

/// Largest difference of a near miss, as a share of the answer.
const CLOSE: f64 = 0.05;

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
    /// True if a rounded answer is wrong unless the tolerance covers it.
    pub exact: bool,
    pub unit: String,
    /// The way to the answer.
    pub because: String,
    /// Wrong numbers from typical mistakes.
    pub mistakes: Vec<Mistake>,
}

/// How a number that is not accepted is near to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearMiss {
    /// It is the answer at the digits typed, but the question needs more of them.
    TooFewDigits,
    /// It differs by a few percent.
    Close,
}

impl NearMiss {
    /// What to do about it.
    pub fn advice(self) -> &'static str {
        match self {
            NearMiss::TooFewDigits => "Close: give more digits.",
            NearMiss::Close => "Close: the way is right or nearly so. Calculate with more digits.",
        }
    }
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
    /// A wrong number is explained only if it is a typical mistake or a near miss; for others the explanation would
    /// reveal the answer.
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
                let near = || number.near_miss(value).map_or("", NearMiss::advice);
                let because = number.mistake(value).map(|mistake| &*mistake.because);
                (false, because.unwrap_or_else(near))
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
    pub fn asked_step(&self) -> Option<&StepRef> {
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
    pub fn order(&self, learner: &str, question: &StepRef) -> Vec<usize> {
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
    /// Returns whether `value` is right: within the tolerance, or equal to the answer at the digits typed. A rounded answer
    /// needs two significant digits, and an exact question takes none.
    fn accepts(&self, value: f64) -> bool {
        let is_within = (value - self.answer).abs() <= self.tolerance * self.answer.abs();
        is_within || (!self.exact && is_rounded(self.answer, value, LEAST_DIGITS))
    }

    /// Says how a refused value is near to the answer; `None` if it is far from it, or a typical mistake.
    pub fn near_miss(&self, value: f64) -> Option<NearMiss> {
        if self.accepts(value) || self.mistake(value).is_some() {
            return None;
        }
        if is_rounded(self.answer, value, 1) {
            return Some(NearMiss::TooFewDigits);
        }
        let is_close = (value - self.answer).abs() <= CLOSE * self.answer.abs();
        is_close.then_some(NearMiss::Close)
    }

    fn mistake(&self, value: f64) -> Option<&Mistake> {
        // A learner may round the wrong number; the mistake is the same.
        let is_near = |mistake: &&Mistake| {
            (value - mistake.value).abs() <= self.tolerance.max(0.01) * mistake.value.abs()
        };
        self.mistakes.iter().find(is_near)
    }
}

/// Returns whether `typed` is `answer` rounded at the last digit of `typed`, or at its digit number `least` if it has
/// fewer. Zeros at the end count as no digits. Both neighbours of a tie are accepted. False for NaN.
fn is_rounded(answer: f64, typed: f64, least: usize) -> bool {
    if !typed.is_finite() || typed == 0.0 {
        return false;
    }
    // The shortest decimal form: `3.6e1` for 36 and 36.0.
    let written = format!("{typed:e}");
    let Some((digits, exponent)) = written.split_once('e') else {
        return false;
    };
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    let Ok(exponent) = exponent.parse::<i32>() else {
        return false;
    };
    let last = exponent + 1 - i32::try_from(count.max(least)).unwrap_or(i32::MAX);
    // A hair more than half of the last digit, for the rounding errors of the difference.
    (typed - answer).abs() <= 0.5 * 10_f64.powi(last) * (1.0 + 1e-9)
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
            exact: false,
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
        assert_eq!(because(211.0), "");
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

    fn question(answer: f64, exact: bool) -> NumberQuestion {
        NumberQuestion {
            answer,
            read: None,
            tolerance: 0.0,
            exact,
            unit: String::new(),
            because: String::new(),
            mistakes: Vec::new(),
        }
    }

    #[test]
    fn an_answer_is_right_at_the_digits_typed_and_a_near_miss_is_told() {
        use NearMiss::{Close, TooFewDigits};
        for (answer, value, expected) in [
            (36.364, 36.0, Ok(())),
            (36.364, 36.4, Ok(())),
            (36.364, 36.36, Ok(())),
            (36.364, 36.37, Err(Some(Close))),
            (36.364, 37.0, Err(Some(Close))),
            (36.364, 40.0, Err(Some(TooFewDigits))),
            (36.364, 63.6, Err(None)),
            (14.375, 14.0, Ok(())),
            (1.083, 1.1, Ok(())),
            (1.083, 1.0, Err(Some(TooFewDigits))),
            (268.4, 270.0, Ok(())),
            (268.4, 300.0, Err(Some(TooFewDigits))),
            (62.5, 62.0, Ok(())),
            (62.5, 63.0, Ok(())),
            (0.001_25, 0.0013, Ok(())),
            (-6.908, -6.9, Ok(())),
            (-6.908, 6.9, Err(None)),
            (4.0, 0.0, Err(None)),
            (4.0, f64::NAN, Err(None)),
            (4.0, f64::INFINITY, Err(None)),
            (f64::NAN, 4.0, Err(None)),
        ] {
            let question = question(answer, false);
            let found = match question.accepts(value) {
                true => Ok(()),
                false => Err(question.near_miss(value)),
            };
            assert_eq!(found, expected, "{answer}, answered {value}");
        }
        let exact = question(111.0, true);
        assert!(exact.accepts(111.0) && !exact.accepts(110.0));
        assert_eq!(exact.near_miss(110.0), Some(TooFewDigits));
    }

    #[test]
    fn any_answer_rounded_to_two_digits_or_more_is_right_and_a_unit_off_is_not() {
        use rand::{RngExt, SeedableRng};
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(56);
        for _ in 0..20_000 {
            let answer =
                random.random_range(1.0_f64..9.0) * 10_f64.powi(random.random_range(-9..9));
            let digits = random.random_range(2..8);
            let typed: f64 = format!("{answer:.*e}", digits - 1).parse().unwrap();
            let question = question(answer, false);
            assert!(question.accepts(typed), "{answer} as {typed}");
            let exponent: i32 = format!("{answer:e}")
                .split_once('e')
                .unwrap()
                .1
                .parse()
                .unwrap();
            let unit = 10_f64.powi(exponent + 1 - digits as i32);
            // A zero at the end is no digit, so the next number is taken then.
            let apart = |units: f64| format!("{:.*e}", digits - 1, typed + units * unit);
            let wrong = Some(apart(2.0)).filter(|it| !it.contains("0e"));
            let wrong: f64 = wrong.unwrap_or_else(|| apart(3.0)).parse().unwrap();
            assert!(!question.accepts(wrong), "{answer} as {wrong}");
        }
    }
}
