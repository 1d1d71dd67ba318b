//! Questions with one right answer, and a reason for every wrong one.

/// A question; its wording is the step's text.
#[derive(Clone, Debug, PartialEq)]
pub enum Quiz {
    Choices(Vec<Choice>),
    Number(Number),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub text: String,
    pub correct: bool,
    pub because: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    pub answer: f64,
    /// Largest accepted difference as a share of the answer.
    pub tolerance: f64,
    pub unit: String,
    pub because: String,
}

/// What a learner answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// Position of a choice, from 0.
    Choice(usize),
    Number(f64),
}

/// An answer with whether it is right, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked {
    pub answer: Answer,
    pub correct: bool,
    pub because: String,
}

impl Answer {
    /// As events keep it: a number, or the position of a choice.
    pub fn as_number(self) -> f64 {
        match self {
            Answer::Choice(index) => index as f64,
            Answer::Number(value) => value,
        }
    }
}

impl Quiz {
    /// None when the answer is of the other sort, or no choice of this quiz.
    pub fn mark(&self, answer: Answer) -> Option<Marked> {
        let (correct, because) = match (self, answer) {
            (Quiz::Choices(choices), Answer::Choice(index)) => {
                let choice = choices.get(index)?;
                (choice.correct, &choice.because)
            }
            (Quiz::Number(number), Answer::Number(value)) => {
                let difference = (value - number.answer).abs();
                let most = number.tolerance * number.answer.abs();
                (difference <= most, &number.because)
            }
            _ => return None,
        };
        Some(Marked {
            answer,
            correct,
            because: because.clone(),
        })
    }

    /// The right answer.
    pub fn solution(&self) -> Option<Answer> {
        match self {
            Quiz::Choices(choices) => choices
                .iter()
                .position(|choice| choice.correct)
                .map(Answer::Choice),
            Quiz::Number(number) => Some(Answer::Number(number.answer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_right_within_its_tolerance_and_never_when_it_is_none() {
        let quiz = Quiz::Number(Number {
            answer: 200.0,
            tolerance: 0.05,
            unit: String::new(),
            because: "so".into(),
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
                quiz.mark(Answer::Number(value)).unwrap().correct,
                correct,
                "{value}"
            );
        }
        assert_eq!(quiz.mark(Answer::Choice(0)), None);
        assert!(quiz.mark(quiz.solution().unwrap()).unwrap().correct);
    }

    #[test]
    fn a_wrong_choice_comes_with_its_own_reason() {
        let choice = |correct, because: &str| Choice {
            text: String::new(),
            correct,
            because: because.into(),
        };
        let quiz = Quiz::Choices(vec![choice(false, "no"), choice(true, "yes")]);
        assert_eq!(
            quiz.mark(Answer::Choice(0)).unwrap(),
            Marked {
                answer: Answer::Choice(0),
                correct: false,
                because: "no".into()
            }
        );
        assert_eq!(quiz.mark(Answer::Choice(2)), None);
        assert_eq!(quiz.solution(), Some(Answer::Choice(1)));
    }
}
