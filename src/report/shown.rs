//! Builds the content that every layout of a report shows: tables, sentences and pictures.

use serde::Serialize;
use serde_json::{Value, json};

use super::html::pictures;
use crate::{
    AnswerReport, CheckReport, LessonReport, ProfileReport, Report, ReportTable, RunReport,
    StepReport, Work, layout, text,
};
use tinyllama_base::{NOT_REPORTED, or_not_reported};
use tinyllama_runs::Metric;

/// How much of a long session is shown. The JSON document has all of it.
#[derive(Clone, Copy, Debug)]
pub struct ListLimits {
    pub runs: usize,
    /// Characters of a reflection.
    pub reflection: usize,
}

impl ListLimits {
    pub const NONE: ListLimits = ListLimits {
        runs: usize::MAX,
        reflection: usize::MAX,
    };
}

/// Writes the whole report as Markdown.
pub fn markdown(report: &Report) -> String {
    layout::render("report.md", &shown(report, ListLimits::NONE))
}

pub fn shown(report: &Report, limits: ListLimits) -> Value {
    let earlier = report.runs.len().saturating_sub(limits.runs);
    let runs = &report.runs[earlier..];
    let started = |run: &RunReport| {
        let remarks: Vec<String> = text::remarks(run).collect();
        json!({"id": run.id, "command": run.command, "remarks": remarks})
    };
    let device = |run: &&RunReport| match run.device.and_then(|at| report.devices.get(at)) {
        Some(device) => device.name.clone(),
        None => NOT_REPORTED.into(),
    };
    let begun = report.steps().map(|(lesson, step)| BegunStep {
        lesson: &lesson.title,
        step,
    });
    json!({
        "learner": report.learner,
        "course": report.course,
        "path": report.path.as_ref().map(ToString::to_string),
        "session": report.session,
        "totals": report.totals,
        "steps_done": text::steps_done(report),
        "devices": report.devices.iter().map(text::device).collect::<Vec<_>>(),
        "warnings": report.warnings,
        "written": report.written,
        "program": report.program,
        "records": report.chain.records,
        "last_hash": report.chain.last_hash,
        "most_of_a_reflection": limits.reflection,
        "steps": begun.collect::<Vec<_>>(),
        "lessons": text::lessons(report),
        "lessons_alone": text::lessons(report).without_column("Session"),
        "predictions": text::predictions(report),
        "earlier_runs": earlier,
        "runs": text::runs(runs),
        "runs_on_devices": text::runs(runs).text("Device", device),
        "started": runs.iter().map(started).collect::<Vec<_>>(),
        "energy": text::energy(&report.runs),
        "stages": text::stages(report),
        "counted": counted(report),
        "profiles": profiles(report),
        "checks": checks(report),
        "checks_by_path": checks_by_path(report),
        "answers": answers(report),
        "cases": text::cases(report),
        "kernels": text::kernels(report),
        "charts": {
            "time": pictures::time(report),
            "steps": pictures::steps(runs),
            "loss": pictures::loss(runs),
            "stages": pictures::stages(report),
        },
    })
}

/// A step, with the title of its lesson.
#[derive(Serialize)]
struct BegunStep<'a> {
    lesson: &'a str,
    #[serde(flatten)]
    step: &'a StepReport,
}

/// Items of every step that was begun, each with its step.
fn each<'a, T: 'a, I: IntoIterator<Item = T> + 'a>(
    report: &'a Report,
    of: impl Fn(&'a StepReport) -> I + 'a,
) -> impl Iterator<Item = (&'a LessonReport, &'a StepReport, T)> {
    let steps = report.steps();
    steps.flat_map(move |(lesson, step)| of(step).into_iter().map(move |one| (lesson, step, one)))
}

type CheckWithStep<'a> = (&'a LessonReport, &'a StepReport, &'a CheckReport);

/// Adds columns for the result of each check.
fn with_outcomes<'a>(checks: ReportTable<CheckWithStep<'a>>) -> ReportTable<CheckWithStep<'a>> {
    checks
        .verdict("Verdict", |(.., check)| check.verdict.name())
        .number("Missed", |(.., check)| check.missed)
        .text("Measured", |(.., check)| check.explanation.clone())
}

fn checks(report: &Report) -> ReportTable<CheckWithStep<'_>> {
    let checks = ReportTable::new(each(report, |step| &step.checks))
        .text("Step", |(lesson, step, _)| title(lesson, step))
        .code("Check", |(.., check)| check.id.clone());
    with_outcomes(checks)
}

fn checks_by_path(report: &Report) -> ReportTable<CheckWithStep<'_>> {
    let path = |(lesson, step, check): &CheckWithStep| {
        format!("{} / {} / {}", lesson.id, step.id, check.id)
    };
    with_outcomes(ReportTable::new(each(report, |step| &step.checks)).code("Check", path))
}

fn title(lesson: &LessonReport, step: &StepReport) -> String {
    format!("{}: {}", lesson.title, step.title)
}

fn answers(report: &Report) -> ReportTable<(&LessonReport, &StepReport, &AnswerReport)> {
    let right = |given: &AnswerReport| if given.correct { "right" } else { "wrong" };
    ReportTable::new(each(report, |step| &step.answers))
        .text("Question", |(lesson, step, _)| title(lesson, step))
        .text("Answer", |(.., given)| given.text.clone())
        .verdict("Right", move |(.., given)| right(given))
}

fn counted(report: &Report) -> Vec<Value> {
    let one = |(run, work): (&RunReport, &Work)| {
        let rate = |rate| Metric::AchievedFlopsPerS.unit().show(rate);
        json!({
            "target": run.target,
            "id": run.id,
            "flops": Metric::FlopsPerStep.unit().show(work.flops_per_step),
            "bytes": Metric::BytesPerStep.unit().show(work.bytes_per_step),
            "achieved": or_not_reported(work.achieved_flops_per_s.map(rate)),
            "source": work.source,
            "chart": pictures::roofline(work),
            "ceilings": text::ceilings(work),
            "parts": text::work(work),
        })
    };
    text::counted(report).map(one).collect()
}

fn profiles(report: &Report) -> Vec<Value> {
    let one = |profile: &ProfileReport| {
        let hotspots = text::hotspots(profile);
        json!({"run": profile.run, "folder": profile.folder, "hotspots": hotspots, "notes": profile.notes})
    };
    report.profiles.iter().map(one).collect()
}
