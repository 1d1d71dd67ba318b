//! The class on one page.

use super::document::{CheckRow, ClassReport, DeviceRow, Middle, PredictionRow};
use crate::report::html::markup::{items, section, table};
use crate::report::html::{Page, page};
use crate::report::table::Table;
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
    let learners = Table::of(&class.learners)
        .text("Learner", |row| row.name.clone())
        .number("Steps", |row| {
            format!("{} of {}", row.steps_finished, row.steps)
        })
        .number("Lessons", |row| row.lessons_finished)
        .number("Time", |row| words::minutes(row.minutes))
        .number("Attempts", |row| row.attempts)
        .number("Hints", |row| row.hints)
        .number("Runs", |row| row.runs)
        .text("Last record", |row| moment(&row.last))
        .text("Device", |row| {
            row.device.clone().unwrap_or_else(|| "none yet".into())
        })
        .verdict("Records intact", |row| match row.intact {
            Some(true) => "yes",
            Some(false) => "no",
            None => "carries none",
        });
    let table = table("Everyone who handed in", &learners);
    section("learners", "Learners", &table)
}

fn lessons(class: &ClassReport) -> String {
    let minutes = |minutes| format!("{minutes:.1}");
    let planned = |planned: u32| planned.to_string();
    let lessons = Table::of(&class.lessons)
        .text("Lesson", |row| row.title.clone())
        .number("Begun", |row| row.begun)
        .number("Finished", |row| row.finished)
        .number("Minutes, median (p10 to p90)", |row| {
            spread(row.minutes.as_ref(), minutes)
        })
        .number("Planned", |row| {
            row.planned_minutes.map_or("-".into(), planned)
        })
        .number("Attempts", |row| row.attempts)
        .number("Hints", |row| row.hints);
    let table = table("Minutes are of those who finished the lesson", &lessons);
    section("lessons", "Lessons", &table)
}

fn checks(class: &ClassReport) -> String {
    let missed = |row: &&CheckRow| row.missed_by > 0 || row.passed < row.learners;
    let checks = Table::of(class.checks.iter().filter(missed).take(MOST_ROWS))
        .code("Check", |row| {
            format!("{}/{}/{}", row.lesson, row.step, row.check)
        })
        .number("Learners", |row| row.learners)
        .number("Missed by", |row| row.missed_by)
        .number("Misses", |row| row.misses)
        .number("Passed now", |row| row.passed);
    let table = table("Checks that were missed, most often missed first", &checks);
    section("checks", "Hardest checks", &table)
}

fn wrong_answers(class: &ClassReport) -> String {
    let answers = Table::of(class.wrong_answers.iter().take(MOST_ROWS))
        .text("Question", |row| format!("{}: {}", row.lesson, row.title))
        .text("Answer", |row| row.answer.clone())
        .number("Learners", |row| format!("{} of {}", row.learners, row.of));
    let table = table("Most common first", &answers);
    section("answers", "Common wrong answers", &table)
}

fn predictions(class: &ClassReport) -> String {
    let ratio = |row: &&PredictionRow| spread(Some(&row.ratio), times);
    let predictions = Table::of(&class.predictions)
        .text("Question", |row| format!("{}: {}", row.lesson, row.title))
        .number("Learners", |row| row.ratio.count)
        .number("Predicted / measured, median (p10 to p90)", ratio);
    let table = table("1.00x is a perfect guess", &predictions);
    section("predictions", "Prediction errors", &table)
}

fn devices(class: &ClassReport) -> String {
    let name = |row: &&DeviceRow| {
        let origin = if row.recording { ", recording" } else { "" };
        format!("{} ({}{origin})", row.device, row.backend)
    };
    let step = |row: &&DeviceRow| spread(Some(&row.step_ms), |ms| milliseconds(Some(ms)));
    let devices = Table::of(&class.devices)
        .text("Device", name)
        .text("Model", |row| format!("{}, {}", row.model, row.dtype))
        .text("Target", |row| row.target.clone())
        .number("Learners", |row| row.learners)
        .number("Step, median (p10 to p90)", step)
        .number("Speed-up, median (p10 to p90)", |row| {
            spread(row.speedup.as_ref(), times)
        });
    let caption = "Each learner counts once, with the newest complete run; speed-ups are to the learner's own baseline";
    section("devices", "Results per device", &table(caption, &devices))
}

fn warnings(class: &ClassReport) -> String {
    if class.warnings.is_empty() {
        return String::new();
    }
    let items = items(&class.warnings);
    section("warnings", "Worth knowing", &format!("<ul>{items}</ul>\n"))
}
