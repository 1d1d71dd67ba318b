//! What the learner did: progress, predictions, checks, answers, reflections.

use crate::report::document::Report;
use crate::report::html::Limits;
use crate::report::html::charts::{self, Bar};
use crate::report::html::markup::{Text, section, table};
use crate::report::table::Table;
use crate::report::words;

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
    let remarks = report.steps().filter_map(|(lesson, step)| {
        let remark = step.remark.as_ref().filter(|remark| !remark.is_empty())?;
        Some((lesson, step, remark))
    });
    let remarks = Table::of(remarks)
        .text("Lesson", |(lesson, ..)| lesson.title.clone())
        .text("Step", |(_, step, _)| step.title.clone())
        .text("Status", |(_, step, _)| step.status.clone())
        .text("Remark", |(.., remark)| remark.to_string());
    let content = [
        chart,
        table("Lessons that were begun", &words::lessons(report)),
        table(
            "Steps that were skipped or solved by an instructor",
            &remarks,
        ),
    ];
    section("progress", "Progress", &content.concat())
}

pub(super) fn predictions(report: &Report) -> String {
    let table = table("Guesses made before measuring", &words::predictions(report));
    section("predictions", "Predictions", &table)
}

pub(super) fn checks(report: &Report) -> String {
    let checks = report.steps().flat_map(|(lesson, step)| {
        let title = format!("{}: {}", lesson.title, step.title);
        step.checks.iter().map(move |check| (title.clone(), check))
    });
    let checks = Table::of(checks)
        .text("Step", |(title, _)| title.clone())
        .code("Check", |(_, check)| check.id.clone())
        .verdict("Verdict", |(_, check)| check.verdict.name())
        .number("Missed", |(_, check)| check.missed)
        .text("Measured", |(_, check)| check.explanation.clone());
    let table = table("Checks of the steps that were begun", &checks);
    section("checks", "Checks", &table)
}

pub(super) fn answers(report: &Report) -> String {
    let answers = report.steps().flat_map(|(lesson, step)| {
        let title = format!("{}: {}", lesson.title, step.title);
        step.answers.iter().map(move |given| (title.clone(), given))
    });
    let answers = Table::of(answers)
        .text("Question", |(title, _)| title.clone())
        .text("Answer", |(_, given)| given.text.clone())
        .verdict(
            "Right",
            |(_, given)| if given.correct { "right" } else { "wrong" },
        );
    let marked = report
        .steps()
        .filter_map(|(_, step)| Some((step, step.marked.clone()?)));
    let marked = Table::of(marked)
        .text("Question", |(step, _)| step.title.clone())
        .text("Right", |(_, marked)| marked.clone());
    let content = [
        table("Questions, each counted once", &marked),
        table("Answers in the order they were given", &answers),
        table("Investigations", &words::cases(report)),
    ];
    section("answers", "Answers", &content.concat())
}

pub(super) fn kernels(report: &Report) -> String {
    let table = table("Attempts in their order", &words::kernels(report));
    section("kernels", "Kernels written", &table)
}

pub(super) fn reflections(report: &Report, limits: Limits) -> String {
    let mut out = String::new();
    for (lesson, step) in report.steps() {
        let Some(text) = &step.reflection else {
            continue;
        };
        let shown: String = text.chars().take(limits.reflection).collect();
        let more = match shown.len() < text.len() {
            true => " … (the rest is in the JSON document)",
            false => "",
        };
        out.push_str(&format!(
            "<h3>{}: {}</h3>\n<blockquote>{}{more}</blockquote>",
            Text(&lesson.title),
            Text(&step.title),
            Text(&shown)
        ));
    }
    section("reflections", "Reflections", &out)
}
