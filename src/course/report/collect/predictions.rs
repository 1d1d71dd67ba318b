//! What was guessed, and what was then measured.

use crate::lesson::{Course, StepKind, exact};
use crate::report::Prediction;
use crate::session::{MeasuredRuns, State};

pub fn collect(state: &State, course: &Course, runs: &MeasuredRuns) -> Vec<Prediction> {
    let predictions = course.steps().filter_map(|(lesson, step)| {
        let StepKind::Predict { measure } = &step.kind else {
            return None;
        };
        let predicted = state.step(&lesson.id, &step.id)?.prediction?;
        let measured = exact(measure, runs).ok();
        let ratio = measured.map(|value| predicted / value);
        let unit = measure.unit();
        Some(Prediction {
            lesson: lesson.id.clone(),
            step: step.id.clone(),
            title: step.title.clone(),
            quantity: measure.to_string(),
            predicted,
            predicted_text: unit.show(predicted),
            measured,
            measured_text: measured.map(|value| unit.show(value)),
            ratio: ratio.filter(|ratio| ratio.is_finite()),
        })
    });
    predictions.collect()
}
