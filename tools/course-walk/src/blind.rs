//! Measures how many choice questions a learner passes by the form of the choices, without reading the question.

use std::fmt;

use tinyllama_lesson::{Course, Quiz, QuizChoice};

/// Fewest questions over which a share says something: one more or less changes it by a few per cent.
const FEWEST_QUESTIONS: usize = 30;

/// A way to choose without understanding, and how far it gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlindStrategy {
    pub name: &'static str,
    /// The share of the questions passed at the first try, averaged over the dice.
    pub share: f64,
}

impl fmt::Display for BlindStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "without reading, \"{}\" passes {:.1} % of the choice questions; at most {:.0} % are allowed",
            self.name,
            100.0 * self.share,
            100.0 * MOST_BLIND
        )
    }
}

/// All blind strategies over the choice questions of a course, the best one first. `None` if the course has too few
/// questions.
pub fn blind_strategies(course: &Course) -> Option<Vec<BlindStrategy>> {
    let quizzes = course.steps().filter_map(|(_, step)| step.as_quiz());
    let questions = quizzes.filter_map(|quiz| match quiz {
        Quiz::Choices(choices) => Some(choices.as_slice()),
        Quiz::Number(_) => None,
    });
    let questions: Vec<&[QuizChoice]> = questions.collect();
    if questions.len() < FEWEST_QUESTIONS {
        return None;
    }
    let mut passed = BLIND.map(|(name, score)| BlindStrategy {
        name,
        share: passed_by(score, &questions),
    });
    passed.sort_by(|a, b| b.share.total_cmp(&a.share));
    Some(passed.to_vec())
}

/// Limit for the share passed without reading. Chance alone passes 32 % of the course.
pub const MOST_BLIND: f64 = 0.34;

type Score = fn(&str, &[&str]) -> i64;

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn has(text: &str, wanted: &[&str]) -> bool {
    words(text)
        .iter()
        .any(|word| wanted.contains(&word.as_str()))
}

fn gives_a_reason(text: &str) -> bool {
    has(text, &["because", "as", "so", "since"])
}

fn is_absolute(text: &str) -> bool {
    let absolutes = [
        "always", "never", "all", "only", "every", "each", "none", "nothing", "no", "any",
    ];
    has(text, &absolutes)
}

fn length(text: &str) -> i64 {
    text.chars().count() as i64
}

fn is_longest(text: &str, all: &[&str]) -> bool {
    all.iter().all(|other| length(other) <= length(text))
}

fn is_shortest(text: &str, all: &[&str]) -> bool {
    all.iter().all(|other| length(other) >= length(text))
}

fn is_careful(text: &str) -> bool {
    !gives_a_reason(text) && !is_absolute(text)
}

/// Number of words shared with the other choices, relative to the number of its own words.
fn likeness(text: &str, all: &[&str]) -> i64 {
    let own = words(text);
    let others = all.iter().filter(|other| **other != text);
    let common = others.map(|other| {
        let other = words(other);
        own.iter().filter(|word| other.contains(word)).count() as i64
    });
    1000 * common.sum::<i64>() / own.len().max(1) as i64
}

/// Ways to choose by form alone. The choice with the most points wins, and dice decide a tie.
const BLIND: [(&str, Score); 12] = [
    ("the shortest", |text, _| -length(text)),
    ("the longest", |text, _| length(text)),
    ("neither the longest nor the shortest", |text, all| {
        i64::from(!is_longest(text, all) && !is_shortest(text, all))
    }),
    ("not the longest", |text, all| {
        i64::from(!is_longest(text, all))
    }),
    ("not the shortest", |text, all| {
        i64::from(!is_shortest(text, all))
    }),
    ("without a reason", |text, _| {
        i64::from(!gives_a_reason(text))
    }),
    ("with a reason", |text, _| i64::from(gives_a_reason(text))),
    ("without an absolute", |text, _| {
        i64::from(!is_absolute(text))
    }),
    ("without either", |text, _| i64::from(is_careful(text))),
    ("without either, the shortest", |text, _| {
        10_000 * i64::from(is_careful(text)) - length(text)
    }),
    ("without either, the longest", |text, _| {
        10_000 * i64::from(is_careful(text)) + length(text)
    }),
    ("most like the others", likeness),
];

fn passed_by(score: Score, questions: &[&[QuizChoice]]) -> f64 {
    let chances = questions.iter().map(|choices| {
        let texts: Vec<&str> = choices.iter().map(|choice| choice.text.trim()).collect();
        let scores = texts.iter().map(|text| score(text, &texts));
        let scores: Vec<i64> = scores.collect();
        let best = scores.iter().max();
        let taken = || {
            scores
                .iter()
                .zip(*choices)
                .filter(|(score, _)| Some(*score) == best)
        };
        let right = taken().filter(|(_, choice)| choice.correct).count();
        right as f64 / taken().count() as f64
    });
    chances.sum::<f64>() / questions.len() as f64
}
