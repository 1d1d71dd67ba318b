//! The card: a session on one screen of text, to keep or to show.

use std::collections::BTreeMap;

use serde_json::json;

use super::layout;
use crate::{KernelReport, Report, text};

const COLUMNS: usize = 80;

/// Renders at most 24 lines of at most 80 columns.
pub fn card(report: &Report) -> String {
    let marks = || report.steps().filter_map(|(_, step)| step.marked.as_ref());
    let cases = report.steps().filter_map(|(lesson, step)| {
        let case = step.case.as_ref().filter(|case| case.solved)?;
        let at = format!("{}/{}", lesson.id, step.id);
        Some(json!({ "at": at, "fixes": case.fixes, "measurements": case.measurements }))
    });
    let shown = json!({
        "learner": report.learner,
        "course": report.course,
        "path": report.path.as_ref().map(ToString::to_string),
        "session": report.session,
        "totals": report.totals,
        "steps_done": text::steps_done(report),
        "devices": report.devices,
        "written": written(&report.kernels),
        "predictions": report.predictions,
        "found": cases.collect::<Vec<_>>(),
        "first_try": marks().filter(|mark| *mark == "first try").count(),
        "answered": marks().count(),
        "records": report.chain.records,
    });
    let text = layout::render("card.txt", &shown);
    let cut = text
        .lines()
        .map(|line| line.chars().take(COLUMNS).collect::<String>());
    itertools::join(cut, "\n")
}

/// Lists the kernels that passed their check, each with its last timing on a GPU.
fn written(attempts: &[KernelReport]) -> Vec<serde_json::Value> {
    let mut kernels = BTreeMap::new();
    for attempt in attempts.iter().filter(|it| it.passed == Some(true)) {
        kernels.insert(&attempt.exercise, attempt);
    }
    for timed in attempts.iter().filter(|it| it.milliseconds.is_some()) {
        kernels
            .entry(&timed.exercise)
            .and_modify(|attempt| *attempt = timed);
    }
    let rows = kernels
        .into_values()
        .map(|it| json!({ "exercise": it.exercise, "outcome": it.outcome(), "device": it.device }));
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CollectOptions, KernelReport, Prediction, collect};
    use tinyllama_lesson::{Course, CourseSource};
    use tinyllama_session::progress::PathProgress;
    use tinyllama_session::{Session, SessionLocation};

    #[test]
    fn the_path_is_on_the_card() {
        let folder = tempfile::tempdir().unwrap();
        let location = SessionLocation::new(folder.path(), "ada");
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let mut session = Session::open(location.clone()).unwrap();
        session.take_path(course.path("short").unwrap()).unwrap();
        session
            .skip_lesson(course.lesson("memory").unwrap(), "known")
            .unwrap();
        let taken = PathProgress::new(&course, session.state()).unwrap();
        assert!(taken.steps_finished > 0);
        drop(session);
        let report = collect(&location, &course, CollectOptions::default()).unwrap();
        assert_eq!(report.path.as_ref(), Some(&taken));
        let card = card(&report);
        assert!(card.contains(&taken.to_string()), "{card}");
    }

    #[test]
    fn a_long_session_fits_on_one_screen_and_names_where_figures_are_from() {
        let folder = tempfile::tempdir().unwrap();
        let place = SessionLocation::new(folder.path(), "ada");
        drop(Session::open(place.clone()).unwrap());
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let mut report = collect(&place, &course, CollectOptions::default()).unwrap();
        let empty = card(&report);
        for number in 0..9 {
            for passed in [Some(false), Some(true)] {
                report.kernels.push(KernelReport {
                    exercise: format!("kernel-{number}"),
                    passed,
                    ..KernelReport::default()
                });
            }
        }
        report.kernels.push(KernelReport {
            exercise: "kernel-0".into(),
            milliseconds: Some(0.5),
            gigabytes_per_s: Some(900.0),
            device: Some("a GPU".into()),
            ..KernelReport::default()
        });
        report.predictions = vec![
            Prediction {
                lesson: "memory".into(),
                step: "guess-growth".into(),
                title: "And the time?".into(),
                quantity: "long.total_ms / short.total_ms".into(),
                predicted: 4.0,
                predicted_text: "4.00".into(),
                measured: Some(2.5),
                measured_text: Some("2.50".into()),
                recording: Some("NVIDIA H200, 21 November 2026".into()),
                ratio: None,
            };
            7
        ];
        let text = card(&report);
        assert!(text.lines().count() <= 24, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        // The lines above have the date and the size of the course.
        let below = [&empty, &text].map(|card| card.split_once("\nMachine").unwrap().1.to_owned());
        insta::assert_snapshot!(below.join("\n---\n"));
    }
}
