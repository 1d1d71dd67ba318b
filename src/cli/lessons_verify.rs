//! `lessons verify`: walks through every lesson with real runs, as a learner would who makes no mistake.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::Exit;
use super::lessons::{error_style, named};
use super::print_result::print_document;
use tinyllama_course::lesson::{Course, CourseSource};
use tinyllama_course::run::{Launcher, UsageError};
use tinyllama_course::session::verify::{
    Progress, VerifyOptions, WalkOutcome, WalkReport, WalkedStep, verify,
};

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Ids of lessons (default: the whole course)
    #[arg(value_name = "LESSON")]
    chosen: Vec<String>,
    /// Walk only this path, as its learner would
    #[arg(long, value_name = "NAME")]
    path: Option<String>,
    /// Shrink the model until a run takes under a second; checks that depend on its size are skipped
    #[arg(long)]
    fast: bool,
    /// Flags for every run, such as `-- --backend cpu`, instead of the lessons' flags
    #[arg(last = true, value_name = "RUN FLAGS")]
    flags: Vec<String>,
}

pub fn run(
    args: &VerifyArgs,
    course: &Course,
    source: &CourseSource,
    as_json: bool,
) -> Result<Exit> {
    let mut chosen = args.chosen.iter();
    chosen.try_for_each(|id| named(course, id).map(drop))?;
    let path = args.path.as_deref().map(|name| course.path(name));
    let path = path.transpose().map_err(UsageError)?.flatten();
    let options = VerifyOptions {
        path: path.cloned(),
        launcher: Launcher::local_program(),
        fast: args.fast,
        flags: args.flags.clone(),
    };
    let report = verify(course, source, &args.chosen, &options, &mut print_progress)?;
    if let Some(path) = path {
        let (taken, planned) = (path.minutes_taken(course), path.minutes);
        eprintln!("path {}: {taken:.0} of {planned} planned minutes", path.id);
    }
    print_document(as_json, &as_document(&report), |out| print(out, &report))?;
    Ok(Exit::from_passed(report.is_sound()))
}

/// Prints the progress line by line.
fn print_progress(progress: Progress) {
    match progress {
        Progress::Lesson { id, number, of } => eprintln!("lesson {number} of {of}: {id}"),
        Progress::Needed { lesson, step } => eprintln!("needed later: {lesson}/{step}"),
        Progress::Run { argv } => {
            let argv = argv.iter().skip(1).map(|word| word.to_string_lossy());
            eprintln!("  running  {}", itertools::join(argv, " "));
        }
        Progress::Step { step } => print_step(step),
    }
}

fn print_step(step: &WalkedStep) {
    let (result, why) = match &step.result {
        WalkOutcome::Done => ("ok", String::new()),
        WalkOutcome::InPart(why) => ("in part", format!(": {why}")),
        WalkOutcome::Skipped(why) => ("skipped", format!(": {why}")),
        WalkOutcome::Failed => ("FAILED", String::new()),
    };
    let time = match step.seconds {
        seconds if seconds > 0.0 => format!(", {seconds:.1} s"),
        _ => String::new(),
    };
    eprintln!("  {result:<8} {} ({}{time}){why}", step.id, step.kind);
    for note in &step.notes {
        eprintln!("             {note}");
    }
}

fn print(out: &mut impl Write, report: &WalkReport) -> io::Result<()> {
    let style = error_style();
    for problem in report.problems() {
        writeln!(out, "{}", problem.render(style))?;
    }
    let of = |wanted: fn(&WalkOutcome) -> bool| {
        let steps = report.steps();
        steps.filter(|(_, step)| wanted(&step.result)).count()
    };
    let (lessons, problems) = (report.lessons.len(), report.problems().count());
    let done = of(|result| *result == WalkOutcome::Done);
    let part = of(|result| matches!(result, WalkOutcome::InPart(_)));
    let skipped = of(|result| matches!(result, WalkOutcome::Skipped(_)));
    let failed = of(|result| *result == WalkOutcome::Failed);
    writeln!(
        out,
        "{lessons} lessons: {done} steps done, {part} in part, {skipped} skipped, {failed} failed; {problems} problems"
    )
}

fn as_document(report: &WalkReport) -> serde_json::Value {
    let step = |step: &WalkedStep| {
        json!({
            "id": step.id,
            "kind": step.kind,
            "outcome": step.result,
            "seconds": step.seconds,
            "checks": step.checks,
            "notes": step.notes,
            "problems": step.problems,
        })
    };
    let lessons = report.lessons.iter().map(|lesson| {
        let steps: Vec<_> = lesson.steps.iter().map(step).collect();
        json!({ "id": lesson.id, "problems": lesson.problems, "steps": steps })
    });
    let lessons: Vec<_> = lessons.collect();
    json!({ "sound": report.is_sound(), "lessons": lessons })
}
