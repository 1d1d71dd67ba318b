//! What makes a course worse without making it wrong: questions that give themselves away, numbers without help, figures
//! that nobody can trace, words that a plain text does without.

use super::course::{Course, Lesson, Step, StepKind};
use super::live;
use super::place::{Place, problem};
use super::problem::Problem;
use super::quiz::{Choice, Quiz};
use super::source::Source;

/// Units that a figure is measured in.
const UNITS: [&str; 9] = [
    "ms",
    "us",
    "GB/s",
    "TB/s",
    "GFLOP/s",
    "TFLOP/s",
    "samples/s",
    "samples a second",
    "tokens/s",
];

/// Words to avoid, each with what to write instead.
const WORDS: [(&str, &str); 8] = [
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("processor", "CPU, or the part of it that is meant"),
    ("processors", "CPUs, or the parts of them that are meant"),
    ("quotient", "ratio"),
    ("bethink", "think of"),
    ("so-called", "nothing"),
];

/// Everything that is not as good as it should be.
pub fn lint(course: &Course, source: &Source) -> Vec<Problem> {
    let mut problems = Vec::new();
    for lesson in course.lessons() {
        let mut refuse =
            |place: Place, message: String| problems.push(problem(source, lesson, place, message));
        given_away(lesson, &mut refuse);
        for (index, step) in lesson.steps.iter().enumerate() {
            if let StepKind::Quiz(Quiz::Number(_)) = step.kind
                && !step.hints.iter().any(|hint| hint.after.is_none())
            {
                let message = "a number needs a hint: whoever gets it wrong is told it";
                refuse(Place::Step(index, None), message.into());
            }
            texts(index, step, &mut refuse);
        }
    }
    problems
}

/// The longest choice is the right one too often.
fn given_away(lesson: &Lesson, refuse: &mut dyn FnMut(Place, String)) {
    let questions = lesson.steps.iter().enumerate();
    let questions = questions.filter_map(|(index, step)| match &step.kind {
        StepKind::Quiz(Quiz::Choices(choices)) => Some((index, choices)),
        _ => None,
    });
    let questions: Vec<(usize, &Vec<Choice>)> = questions.collect();
    let told: Vec<usize> = questions
        .iter()
        .filter(|(_, choices)| is_longest(choices))
        .map(|(index, _)| *index)
        .collect();
    if 3 * told.len() > questions.len() {
        let message = format!(
            "the right answer is the longest in {} of {} questions of this lesson; in more than a third of them it gives itself away",
            told.len(),
            questions.len()
        );
        refuse(Place::Step(told[0], Some("choices")), message);
    }
}

fn is_longest(choices: &[Choice]) -> bool {
    let length = |choice: &Choice| choice.text.trim().chars().count();
    let right = choices.iter().find(|choice| choice.correct).map(length);
    let wrong = choices.iter().filter(|choice| !choice.correct).map(length);
    right > wrong.max()
}

fn texts(index: usize, step: &Step, refuse: &mut dyn FnMut(Place, String)) {
    let place = Place::Step(index, Some("text"));
    let text = prose(&live::typed(&step.text));
    if let Some(figure) = bare_figure(&text) {
        let message = format!(
            "`{figure}` is typed: name where it comes from, as `{{{{ known: ID }}}}`, a recording or a document, or mark a made-up one as `{{{{ = {figure} }}}}`"
        );
        refuse(place, message);
    }
    let said = [&step.title, &text];
    for (word, better) in WORDS {
        let is_word = |part: &str| part.eq_ignore_ascii_case(word);
        let mut words = said
            .iter()
            .flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '-'));
        if words.any(is_word) {
            refuse(place, format!("`{word}`: write {better}"));
        }
    }
}

/// A text without its code and drawings.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let outside = line.split('`').step_by(2);
            prose.push_str(&outside.collect::<Vec<_>>().join(" "));
            prose.push('\n');
        }
    }
    prose
}

/// The first number with a unit of measurement behind it.
fn bare_figure(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.iter().enumerate().find_map(|(index, word)| {
        let number = word.trim_start_matches(['(', '*', '|']);
        let is_number = number.starts_with(|c: char| c.is_ascii_digit())
            && number
                .chars()
                .all(|c| c.is_ascii_digit() || ".,".contains(c));
        let rest = words.get(index + 1..)?;
        let unit = UNITS.iter().find(|unit| {
            let wanted: Vec<&str> = unit.split(' ').collect();
            let end = |word: &str| {
                word.trim_end_matches(['.', ',', ';', ':', ')', '*', '?'])
                    .to_string()
            };
            rest.len() >= wanted.len()
                && wanted
                    .iter()
                    .zip(rest)
                    .all(|(wanted, word)| end(word) == *wanted)
        })?;
        is_number.then(|| format!("{number} {unit}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_figure_is_found_outside_code_alone() {
        for (text, found) in [
            ("It took 42.4 ms.", Some("42.4 ms")),
            ("(1.98 ms)", Some("1.98 ms")),
            ("reaches 5300 GB/s at most", Some("5300 GB/s")),
            ("540 samples a second", Some("540 samples a second")),
            ("`sleep 10 ms` and 7 kernels", None),
            ("```text\n10 ms\n```", None),
            ("{{ = 10 ms }} and {{ known: v1 }}", None),
            ("8 bytes, 3 times", None),
        ] {
            let found_here = bare_figure(&prose(&live::typed(text)));
            assert_eq!(found_here.as_deref(), found, "{text}");
        }
    }
}
