//! Finds checks that cannot fail or cannot pass, and questions that cannot be answered, for any measurement.

use crate::{Check, Quiz, QuizAnswer};
use tinyllama_runs::Metric;

/// Reasons why a check could never pass, or never fail.
pub(super) fn contradictions(check: &Check) -> Vec<String> {
    let mut messages = Vec::new();
    let bounds: Vec<f64> = check.at_least.into_iter().chain(check.at_most).collect();
    if bounds.is_empty() {
        messages.push("a check needs `at_least`, `at_most` or both".into());
    }
    if bounds.iter().any(|bound| !bound.is_finite()) {
        messages.push("a bound is not a finite number".into());
    }
    if let (Some(least), Some(most)) = (check.at_least, check.at_most)
        && least > most
    {
        messages.push(format!("nothing is at least {least} and at most {most}"));
    }
    if check.at_most.is_some_and(|bound| bound < 0.0) {
        messages.push("no figure of a run is below zero, so this can never pass".into());
    }
    if check.at_least.is_some_and(|bound| bound <= 0.0) && check.at_most.is_none() {
        messages.push("every figure of a run is at least zero, so this can never fail".into());
    }
    messages.extend(contradictory_confidence(check));
    messages.extend(contradictory_ratio(check));
    messages
}

fn contradictory_confidence(check: &Check) -> Option<String> {
    let confidence = check.confidence?;
    if !(confidence > 0.5 && confidence < 1.0) {
        return Some(format!(
            "a confidence must be between 0.5 and 1, such as 0.95; this is {confidence}"
        ));
    }
    if !check.measure.has_spread() {
        let text = format!(
            "{} is one number without a spread over steps: it cannot have a confidence",
            check.measure
        );
        return Some(text);
    }
    // An interval with a width never lies within a single point.
    (check.at_least.is_some() && check.at_least == check.at_most).then(|| {
        "a time never equals a number exactly: leave room between `at_least` and `at_most`".into()
    })
}

fn contradictory_ratio(check: &Check) -> Option<String> {
    let denominator = check.measure.denominator.as_ref()?;
    if denominator.metric.may_be_zero() {
        return Some(format!(
            "{} can be zero, so do not divide by it",
            denominator.metric
        ));
    }
    if *denominator == check.measure.numerator {
        return Some("a figure over itself is always 1".into());
    }
    let share = check.measure.numerator.metric == Metric::ParametersWithGradient
        && denominator.metric == Metric::ParameterTensors;
    (share && check.at_least.is_some_and(|bound| bound > 1.0)).then(|| {
        "more parameters than there are cannot have a gradient, so this can never pass".into()
    })
}

pub(super) fn quiz_problems(quiz: &Quiz) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    match quiz {
        Quiz::Choices(choices) => {
            let path = "choices".to_string();
            let correct = choices.iter().filter(|choice| choice.correct).count();
            if choices.len() < 2 {
                problems.push((path.clone(), "a quiz needs at least two choices".into()));
            }
            if correct != 1 {
                let message = format!("exactly one choice is `correct: true`, not {correct}");
                problems.push((path, message));
            }
            for (i, choice) in choices.iter().enumerate() {
                if choice.because.trim().is_empty() {
                    let path = format!("choices/{i}/because");
                    problems.push((
                        path,
                        "every choice must say why it is right or wrong".into(),
                    ));
                }
            }
        }
        Quiz::Number(number) => {
            let path = "number".to_string();
            let known = number.read.is_some() || number.answer.is_finite();
            if !known || !(0.0..1.0).contains(&number.tolerance) {
                let message = "the answer must be a finite number, and the tolerance a share from 0 to below 1";
                problems.push((path.clone(), message.into()));
            }
            for mistake in &number.mistakes {
                let right = quiz.mark_answer(QuizAnswer::Number(mistake.value));
                if right.is_some_and(|marked| marked.correct) {
                    let message = format!("{} is right, so it cannot be a mistake", mistake.value);
                    problems.push((path.clone(), message));
                }
                if mistake.because.trim().is_empty() {
                    let message = format!("the mistake {} has no reason", mistake.value);
                    problems.push((path.clone(), message));
                }
            }
        }
    }
    problems
}
