//! What was guessed, and what was then measured.

use crate::lesson::check::exact;
use crate::lesson::{Course, StepKind};
use crate::report::document::Prediction;
use crate::session::runs::MeasuredRuns;
use crate::session::state::State;

pub fn collect(state: &State, course: &Course, runs: &MeasuredRuns) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for lesson in course.lessons() {
        for step in &lesson.steps {
            let StepKind::Predict { measure } = &step.kind else {
                continue;
            };
            let guess = state
                .step(&lesson.id, &step.id)
                .and_then(|done| done.prediction);
            let Some(predicted) = guess else {
                continue;
            };
            let measured = exact(measure, runs).ok();
            let unit = measure.unit();
            predictions.push(Prediction {
                lesson: lesson.id.clone(),
                step: step.id.clone(),
                title: step.title.clone(),
                quantity: measure.to_string(),
                predicted,
                predicted_text: unit.show(predicted),
                measured,
                measured_text: measured.map(|value| unit.show(value)),
                ratio: measured
                    .map(|value| predicted / value)
                    .filter(|ratio| ratio.is_finite()),
            });
        }
    }
    predictions
}
