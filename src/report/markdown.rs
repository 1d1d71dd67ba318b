//! The report as Markdown.

use std::fmt::{self, Write};

use super::document::{Report, StepReport};
use super::table::Table;
use super::words::{self, moment, plural};
use crate::base::foreign::{code, markdown};

/// The whole report.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    match write_all(&mut out, report) {
        Ok(()) => out,
        Err(_) => unreachable!("a string takes whatever is written to it"),
    }
}

fn write_all(out: &mut String, report: &Report) -> fmt::Result {
    head(out, report)?;
    list(out, "Read this first", &report.warnings)?;
    progress(out, report)?;
    section(out, "Predictions", &words::predictions(report))?;
    runs(out, report)?;
    energy(out, report)?;
    section(out, "The debugging stages", &words::stages(report))?;
    work(out, report)?;
    profiles(out, report)?;
    questions(out, report)?;
    section(out, "Investigations", &words::cases(report))?;
    commands(out, report)?;
    checks(out, report)?;
    section(out, "Kernels written", &words::kernels(report))?;
    reflections(out, report)?;
    foot(out, report)
}

fn head(out: &mut String, report: &Report) -> fmt::Result {
    let who = report.learner.as_deref().unwrap_or("(name left out)");
    writeln!(out, "# Session report: {}\n", markdown(who))?;
    if let Some(course) = &report.course {
        writeln!(
            out,
            "- Course: {} ({})",
            markdown(&course.title),
            markdown(&course.version)
        )?;
    }
    let session = &report.session;
    writeln!(
        out,
        "- From {} to {}",
        markdown(&moment(&session.begun)),
        markdown(&moment(&session.last))
    )?;
    writeln!(
        out,
        "- Tutor: {}",
        markdown(&session.tutor_versions.join(", "))
    )?;
    for device in &report.devices {
        writeln!(out, "- {}", markdown(&words::device(device)))?;
    }
    let totals = &report.totals;
    writeln!(
        out,
        "- {} of {} steps, {} of {} lessons, {} of attention, {}, {}\n",
        totals.steps_finished,
        totals.steps,
        totals.lessons_finished,
        totals.lessons,
        words::minutes(totals.minutes),
        plural(totals.attempts as usize, "attempt"),
        plural(totals.hints, "hint"),
    )
}

fn list(out: &mut String, title: &str, items: &[String]) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "## {title}\n")?;
    for item in items {
        writeln!(out, "- {}", markdown(item))?;
    }
    writeln!(out)
}

/// A section that is a table; nothing where it has no rows.
fn section<T>(out: &mut String, title: &str, of: &Table<T>) -> fmt::Result {
    if of.rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "## {title}\n")?;
    table(out, of)
}

fn table<T>(out: &mut String, table: &Table<T>) -> fmt::Result {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    writeln!(out, "| {} |", names.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(names.len()))?;
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|cell| markdown(cell)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    writeln!(out)
}

fn progress(out: &mut String, report: &Report) -> fmt::Result {
    if report.lessons.is_empty() {
        return writeln!(out, "## Progress\n\nNo lesson was begun.\n");
    }
    section(out, "Progress", &words::lessons(report).without("Session"))
}

/// Questions, each counted once.
fn questions(out: &mut String, report: &Report) -> fmt::Result {
    let marked = |wanted: &str| {
        let is = |step: &StepReport| step.marked.as_deref() == Some(wanted);
        report.steps().filter(|(_, step)| is(step)).count()
    };
    let (first, later, open) = (marked("first try"), marked("later"), marked("not yet"));
    if first + later + open == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "## Questions\n\n{first} right at first try, {later} later, {open} not yet.\n"
    )
}

/// Which commands were run; what they said is in the JSON document.
fn commands(out: &mut String, report: &Report) -> fmt::Result {
    let steps = report.steps();
    let commands = steps.filter_map(|(_, step)| Some((step, step.command.as_ref()?)));
    let commands: Vec<_> = commands.collect();
    if commands.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "## Commands\n\nWhat each said is in the JSON document.\n"
    )?;
    for (step, command) in commands {
        let origin = command.recording.as_ref();
        let origin = origin.map_or(String::new(), |origin| {
            format!(" (recording: {})", markdown(origin))
        });
        writeln!(
            out,
            "- {}: {}{origin}",
            markdown(&step.title),
            code(&command.command)
        )?;
    }
    writeln!(out)
}

fn runs(out: &mut String, report: &Report) -> fmt::Result {
    if report.runs.is_empty() {
        return Ok(());
    }
    section(out, "Runs", &words::runs(&report.runs))?;
    writeln!(out, "{}\n", words::RATIO_NOTE)?;
    for run in &report.runs {
        writeln!(out, "- {}: {}", code(&run.id), code(&run.command))?;
        for remark in words::remarks(run) {
            writeln!(out, "  - {}", markdown(&remark))?;
        }
    }
    writeln!(out)
}

fn energy(out: &mut String, report: &Report) -> fmt::Result {
    let energy = words::energy(&report.runs);
    if energy.rows.is_empty() {
        return Ok(());
    }
    section(out, "Energy", &energy)?;
    writeln!(out, "{}\n", words::ENERGY_NOTE)
}

fn work(out: &mut String, report: &Report) -> fmt::Result {
    for (run, work) in words::counted(report) {
        let [target, id] = [&run.target, &run.id].map(|name| markdown(name));
        writeln!(out, "## Work of {target} ({id})\n")?;
        table(out, &words::work(work))?;
        writeln!(out, "{}\n", markdown(&words::ceilings(work)))?;
        writeln!(out, "{}\n", markdown(&work.source))?;
    }
    Ok(())
}

fn profiles(out: &mut String, report: &Report) -> fmt::Result {
    for profile in &report.profiles {
        let [run, folder] = [&profile.run, &profile.folder].map(|name| markdown(name));
        writeln!(out, "## Profile of {run} ({folder})\n")?;
        table(out, &words::hotspots(profile))?;
        for note in &profile.notes {
            writeln!(out, "{}\n", markdown(note))?;
        }
    }
    Ok(())
}

fn checks(out: &mut String, report: &Report) -> fmt::Result {
    let checks = report.steps().flat_map(|(lesson, step)| {
        let at = format!("{} / {}", lesson.id, step.id);
        step.checks.iter().map(move |check| (at.clone(), check))
    });
    let checks = Table::of(checks)
        .code("Check", |(at, check)| format!("{at} / {}", check.id))
        .verdict("Verdict", |(_, check)| check.verdict.name())
        .number("Missed", |(_, check)| check.missed)
        .text("Measured", |(_, check)| check.explanation.clone());
    section(out, "Checks", &checks)
}

fn reflections(out: &mut String, report: &Report) -> fmt::Result {
    let mut first = true;
    for (lesson, step) in report.steps() {
        let Some(reflection) = &step.reflection else {
            continue;
        };
        if std::mem::take(&mut first) {
            writeln!(out, "## Reflections\n")?;
        }
        writeln!(
            out,
            "### {}: {}\n",
            markdown(&lesson.title),
            markdown(&step.title)
        )?;
        for line in reflection.lines() {
            writeln!(out, "> {}", markdown(line))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn foot(out: &mut String, report: &Report) -> fmt::Result {
    list(out, "Notes of the session", &report.session.notes)?;
    list(out, "Damaged lines", &report.session.damaged_lines)?;
    writeln!(
        out,
        "---\n\nWritten {} by tinyllama-tutor {}. {} records; hash of the last: {}.",
        markdown(&moment(&report.written)),
        markdown(&report.program),
        report.chain.records,
        code(&report.chain.last_hash)
    )
}
