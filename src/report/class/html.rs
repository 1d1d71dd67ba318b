//! The class on one page.

use super::document::{ClassReport, Middle};
use crate::report::html::markup::{Cell, Text, section, table};
use crate::report::html::{Page, page};
use crate::report::words::{self, milliseconds, moment, plural, times};

const CONTENTS: [(&str, &str); 7] = [
    ("learners", "Learners"),
    ("lessons", "Lessons"),
    ("checks", "Hardest checks"),
    ("answers", "Common wrong answers"),
    ("predictions", "Prediction errors"),
    ("devices", "Results per device"),
    ("warnings", "Worth knowing"),
];

/// Rows of the lists that have no natural end.
const MOST_ROWS: usize = 40;

pub fn render(class: &ClassReport) -> String {
    let content = [
        learners(class),
        lessons(class),
        checks(class),
        wrong_answers(class),
        predictions(class),
        devices(class),
        warnings(class),
    ];
    page(&Page {
        title: "Class report",
        subtitle: &plural(class.learners.len(), "learner"),
        content: &content.concat(),
        contents: &CONTENTS,
        footer: &format!(
            "Written {} by tinyllama-tutor {}. {}",
            moment(&class.written),
            class.program,
            crate::report::hand_in::NOT_PROVEN
        ),
    })
}

/// `12.0 (8.1 to 19.5)`.
fn spread(middle: Option<&Middle>, show: impl Fn(f64) -> String) -> String {
    middle.map_or("-".into(), |middle| {
        format!(
            "{} ({} to {})",
            show(middle.median),
            show(middle.p10),
            show(middle.p90)
        )
    })
}

fn learners(class: &ClassReport) -> String {
    let columns = [
        ("Learner", Cell::Text),
        ("Steps", Cell::Number),
        ("Lessons", Cell::Number),
        ("Time", Cell::Number),
        ("Attempts", Cell::Number),
        ("Hints", Cell::Number),
        ("Runs", Cell::Number),
        ("Last record", Cell::Text),
        ("Device", Cell::Text),
        ("Records intact", Cell::Verdict),
    ];
    let rows = class.learners.iter().map(|row| {
        vec![
            row.name.clone(),
            format!("{} of {}", row.steps_finished, row.steps),
            row.lessons_finished.to_string(),
            words::minutes(row.minutes),
            row.attempts.to_string(),
            row.hints.to_string(),
            row.runs.to_string(),
            moment(&row.last),
            row.device.clone().unwrap_or_else(|| "none yet".into()),
            match row.intact {
                Some(true) => "yes".into(),
                Some(false) => "no".into(),
                None => "carries none".into(),
            },
        ]
    });
    section(
        "learners",
        "Learners",
        &table("Everyone who handed in", &columns, rows),
    )
}

fn lessons(class: &ClassReport) -> String {
    let columns = [
        ("Lesson", Cell::Text),
        ("Begun", Cell::Number),
        ("Finished", Cell::Number),
        ("Minutes, median (p10 to p90)", Cell::Number),
        ("Planned", Cell::Number),
        ("Attempts", Cell::Number),
        ("Hints", Cell::Number),
    ];
    let rows = class.lessons.iter().map(|row| {
        vec![
            row.title.clone(),
            row.begun.to_string(),
            row.finished.to_string(),
            spread(row.minutes.as_ref(), |minutes| format!("{minutes:.1}")),
            row.planned_minutes
                .map_or("-".into(), |planned| planned.to_string()),
            row.attempts.to_string(),
            row.hints.to_string(),
        ]
    });
    section(
        "lessons",
        "Lessons",
        &table(
            "Minutes are of those who finished the lesson",
            &columns,
            rows,
        ),
    )
}

fn checks(class: &ClassReport) -> String {
    let columns = [
        ("Check", Cell::Code),
        ("Learners", Cell::Number),
        ("Missed by", Cell::Number),
        ("Misses", Cell::Number),
        ("Passed now", Cell::Number),
    ];
    let missed = class
        .checks
        .iter()
        .filter(|row| row.missed_by > 0 || row.passed < row.learners);
    let rows = missed.take(MOST_ROWS).map(|row| {
        vec![
            format!("{}/{}/{}", row.lesson, row.step, row.check),
            row.learners.to_string(),
            row.missed_by.to_string(),
            row.misses.to_string(),
            row.passed.to_string(),
        ]
    });
    section(
        "checks",
        "Hardest checks",
        &table(
            "Checks that were missed, most often missed first",
            &columns,
            rows,
        ),
    )
}

fn wrong_answers(class: &ClassReport) -> String {
    let columns = [
        ("Question", Cell::Text),
        ("Answer", Cell::Text),
        ("Learners", Cell::Number),
    ];
    let rows = class.wrong_answers.iter().take(MOST_ROWS).map(|row| {
        vec![
            format!("{}: {}", row.lesson, row.title),
            row.answer.clone(),
            format!("{} of {}", row.learners, row.of),
        ]
    });
    section(
        "answers",
        "Common wrong answers",
        &table("Most common first", &columns, rows),
    )
}

fn predictions(class: &ClassReport) -> String {
    let columns = [
        ("Question", Cell::Text),
        ("Learners", Cell::Number),
        ("Predicted / measured, median (p10 to p90)", Cell::Number),
    ];
    let rows = class.predictions.iter().map(|row| {
        vec![
            format!("{}: {}", row.lesson, row.title),
            row.ratio.count.to_string(),
            spread(Some(&row.ratio), times),
        ]
    });
    section(
        "predictions",
        "Prediction errors",
        &table("1.00x is a perfect guess", &columns, rows),
    )
}

fn devices(class: &ClassReport) -> String {
    let columns = [
        ("Device", Cell::Text),
        ("Model", Cell::Text),
        ("Target", Cell::Text),
        ("Learners", Cell::Number),
        ("Step, median (p10 to p90)", Cell::Number),
        ("Speed-up, median (p10 to p90)", Cell::Number),
    ];
    let rows = class.devices.iter().map(|row| {
        let origin = if row.recording { ", recording" } else { "" };
        vec![
            format!("{} ({}{origin})", row.device, row.backend),
            format!("{}, {}", row.model, row.dtype),
            row.target.clone(),
            row.learners.to_string(),
            spread(Some(&row.step_ms), |ms| milliseconds(Some(ms))),
            spread(row.speedup.as_ref(), times),
        ]
    });
    let caption = "Each learner counts once, with the newest complete run; speed-ups are to the learner's own baseline";
    section(
        "devices",
        "Results per device",
        &table(caption, &columns, rows),
    )
}

fn warnings(class: &ClassReport) -> String {
    if class.warnings.is_empty() {
        return String::new();
    }
    let items: String = class
        .warnings
        .iter()
        .map(|text| format!("<li>{}</li>", Text(text)))
        .collect();
    section("warnings", "Worth knowing", &format!("<ul>{items}</ul>\n"))
}
