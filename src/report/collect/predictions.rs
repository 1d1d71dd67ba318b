//! Guesses, and the measurements that followed.

use crate::Prediction;
use tinyllama_lesson::{Course, exact, recorded};
use tinyllama_runs::recording::label;
use tinyllama_session::{MeasuredRuns, SessionState};

pub fn collect(state: &SessionState, course: &Course, runs: &MeasuredRuns) -> Vec<Prediction> {
    let predictions = course.steps().filter_map(|(lesson, step)| {
        let measure = &step.as_predict()?.measure;
        let predicted = state.step(&lesson.id, &step.id)?.prediction?;
        let measured = exact(measure, runs).ok();
        let recording = recorded(measure, runs).map(label);
        // A guess is about this machine and size. A recording is not, so it gives no ratio.
        let ratio = measured.filter(|_| recording.is_none());
        let ratio = ratio.map(|value| predicted / value);
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
            recording,
            ratio: ratio.filter(|ratio| ratio.is_finite()),
        })
    });
    predictions.collect()
}
