//! What the learner did: progress, predictions, checks, answers, reflections.

use crate::report::document::Report;
use crate::report::html::Limits;
use crate::report::html::charts::{self, Bar};
use crate::report::html::markup::{Cell, Text, section, table};
use crate::report::words::{self, moment};

pub(super) fn progress(report: &Report) -> String {
    let bars: Vec<Bar> = report
        .lessons
        .iter()
        .map(|lesson| Bar {
            name: lesson.title.clone(),
            value: lesson.minutes,
            plan: lesson.planned_minutes.map(f64::from),
            text: words::minutes(lesson.minutes),
        })
        .collect();
    let chart = charts::bars(
        "chart-time",
        "Time per lesson",
        "Bars are minutes of attention, dashed outlines what was planned",
        &bars,
    );
    let columns = [
        ("Lesson", Cell::Text),
        ("Session", Cell::Text),
        ("Steps", Cell::Number),
        ("Skipped", Cell::Number),
        ("Time", Cell::Number),
        ("Planned", Cell::Number),
        ("Attempts", Cell::Number),
        ("Hints", Cell::Number),
    ];
    let rows = report.lessons.iter().map(|lesson| {
        vec![
            lesson.title.clone(),
            lesson
                .session
                .clone()
                .unwrap_or_else(|| "no longer in the course".into()),
            format!("{} of {}", lesson.finished, lesson.of),
            lesson.skipped.to_string(),
            words::minutes(lesson.minutes),
            lesson
                .planned_minutes
                .map_or("-".into(), |planned| format!("{planned} min")),
            lesson.attempts.to_string(),
            lesson.hints.to_string(),
        ]
    });
    let remarks = report.lessons.iter().flat_map(|lesson| {
        lesson.steps.iter().filter_map(move |step| {
            let remark = step.remark.as_ref().filter(|remark| !remark.is_empty())?;
            Some(vec![
                lesson.title.clone(),
                step.title.clone(),
                step.status.clone(),
                remark.clone(),
            ])
        })
    });
    let remark_columns = [
        ("Lesson", Cell::Text),
        ("Step", Cell::Text),
        ("Status", Cell::Text),
        ("Remark", Cell::Text),
    ];
    let content = [
        chart,
        table("Lessons that were begun", &columns, rows),
        table(
            "Steps that were skipped or solved by an instructor",
            &remark_columns,
            remarks,
        ),
    ];
    section("progress", "Progress", &content.concat())
}

pub(super) fn predictions(report: &Report) -> String {
    let columns = words::PREDICTION_HEAD.map(|name| match name {
        "Question" => (name, Cell::Text),
        "Quantity" => (name, Cell::Code),
        _ => (name, Cell::Number),
    });
    let rows = report.predictions.iter().map(words::prediction_row);
    section(
        "predictions",
        "Predictions",
        &table("Guesses made before measuring", &columns, rows),
    )
}

pub(super) fn checks(report: &Report) -> String {
    let columns = [
        ("Step", Cell::Text),
        ("Check", Cell::Code),
        ("Verdict", Cell::Verdict),
        ("Missed", Cell::Number),
        ("Measured", Cell::Text),
    ];
    let rows = report.lessons.iter().flat_map(|lesson| {
        lesson.steps.iter().flat_map(move |step| {
            step.checks.iter().map(move |check| {
                vec![
                    format!("{}: {}", lesson.title, step.title),
                    check.id.clone(),
                    check.verdict.name().into(),
                    check.missed.to_string(),
                    check.explanation.clone(),
                ]
            })
        })
    });
    section(
        "checks",
        "Checks",
        &table("Checks of the steps that were begun", &columns, rows),
    )
}

pub(super) fn answers(report: &Report) -> String {
    let columns = [
        ("Question", Cell::Text),
        ("Answer", Cell::Text),
        ("Right", Cell::Verdict),
    ];
    let rows = report.lessons.iter().flat_map(|lesson| {
        lesson.steps.iter().flat_map(move |step| {
            step.answers.iter().map(move |given| {
                let right = if given.correct { "right" } else { "wrong" };
                vec![
                    format!("{}: {}", lesson.title, step.title),
                    given.text.clone(),
                    right.into(),
                ]
            })
        })
    });
    let marked = report.lessons.iter().flat_map(|lesson| &lesson.steps);
    let marked = marked.filter_map(|step| Some(vec![step.title.clone(), step.marked.clone()?]));
    let cases = report.lessons.iter().flat_map(|lesson| &lesson.steps);
    let cases = cases.filter_map(|step| Some(words::case_row(&step.title, step.case.as_ref()?)));
    let content = [
        table(
            "Questions, each counted once",
            &[("Question", Cell::Text), ("Right", Cell::Text)],
            marked,
        ),
        table("Answers in the order they were given", &columns, rows),
        table(
            "Investigations",
            &words::CASE_HEAD.map(|name| (name, Cell::Text)),
            cases,
        ),
    ];
    section("answers", "Answers", &content.concat())
}

pub(super) fn kernels(report: &Report) -> String {
    let columns = [
        ("Kernel", Cell::Code),
        ("Time", Cell::Text),
        ("Outcome", Cell::Text),
        ("Device", Cell::Text),
    ];
    let rows = report.kernels.iter().map(|attempt| {
        let device = attempt.device.clone().unwrap_or_default();
        vec![
            attempt.exercise.clone(),
            moment(&attempt.time),
            attempt.outcome(),
            device,
        ]
    });
    section(
        "kernels",
        "Kernels written",
        &table("Attempts in their order", &columns, rows),
    )
}

pub(super) fn reflections(report: &Report, limits: Limits) -> String {
    let mut out = String::new();
    for lesson in &report.lessons {
        for step in &lesson.steps {
            let Some(text) = &step.reflection else {
                continue;
            };
            let shown: String = text.chars().take(limits.reflection).collect();
            let more = if shown.len() < text.len() {
                " … (the rest is in the JSON document)"
            } else {
                ""
            };
            out.push_str(&format!(
                "<h3>{}: {}</h3>\n<blockquote>{}{more}</blockquote>",
                Text(&lesson.title),
                Text(&step.title),
                Text(&shown)
            ));
        }
    }
    section("reflections", "Reflections", &out)
}
