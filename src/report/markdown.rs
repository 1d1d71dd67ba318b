//! The report as Markdown.

use std::fmt::{self, Write};

use super::document::{LessonReport, Report};
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
    predictions(out, report)?;
    runs(out, report)?;
    energy(out, report)?;
    stages(out, report)?;
    work(out, report)?;
    profiles(out, report)?;
    questions(out, report)?;
    cases(out, report)?;
    commands(out, report)?;
    checks(out, report)?;
    kernels(out, report)?;
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

fn table(
    out: &mut String,
    head: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> fmt::Result {
    writeln!(out, "| {} |", head.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(head.len()))?;
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| markdown(cell)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    writeln!(out)
}

fn progress(out: &mut String, report: &Report) -> fmt::Result {
    writeln!(out, "## Progress\n")?;
    if report.lessons.is_empty() {
        return writeln!(out, "No lesson was begun.\n");
    }
    let row = |lesson: &LessonReport| {
        vec![
            lesson.title.clone(),
            format!("{} of {}", lesson.finished, lesson.of),
            lesson.skipped.to_string(),
            words::minutes(lesson.minutes),
            lesson
                .planned_minutes
                .map_or("-".into(), |planned| format!("{planned} min")),
            lesson.attempts.to_string(),
            lesson.hints.to_string(),
        ]
    };
    let head = [
        "Lesson", "Steps", "Skipped", "Time", "Planned", "Attempts", "Hints",
    ];
    table(out, &head, report.lessons.iter().map(row))
}

/// Questions, each counted once.
fn questions(out: &mut String, report: &Report) -> fmt::Result {
    let marked = |wanted: &str| {
        let steps = report.lessons.iter().flat_map(|lesson| &lesson.steps);
        steps
            .filter(|step| step.marked.as_deref() == Some(wanted))
            .count()
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

fn cases(out: &mut String, report: &Report) -> fmt::Result {
    let steps = report.lessons.iter().flat_map(|lesson| &lesson.steps);
    let cases = steps.filter_map(|step| Some((step, step.case.as_ref()?)));
    let rows: Vec<Vec<String>> = cases
        .map(|(step, case)| words::case_row(&step.title, case))
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Investigations\n")?;
    table(out, &words::CASE_HEAD, rows)
}

/// Which commands were run; what they said is in the JSON document.
fn commands(out: &mut String, report: &Report) -> fmt::Result {
    let steps = report.lessons.iter().flat_map(|lesson| &lesson.steps);
    let commands: Vec<_> = steps
        .filter_map(|step| Some((step, step.command.as_ref()?)))
        .collect();
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

fn predictions(out: &mut String, report: &Report) -> fmt::Result {
    if report.predictions.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Predictions\n")?;
    let rows = report.predictions.iter().map(words::prediction_row);
    table(out, &words::PREDICTION_HEAD, rows)
}

fn runs(out: &mut String, report: &Report) -> fmt::Result {
    if report.runs.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Runs\n")?;
    table(
        out,
        &words::RUN_HEAD,
        report.runs.iter().map(words::run_row),
    )?;
    writeln!(out, "{}\n", words::RATIO_NOTE)?;
    for run in &report.runs {
        writeln!(out, "- {}: {}", code(&run.id), code(&run.command))?;
        let remarks = run
            .recording
            .iter()
            .map(|machine| format!("Recording of {machine}."));
        for remark in remarks.chain(run.error.clone()).chain(run.warnings.clone()) {
            writeln!(out, "  - {}", markdown(&remark))?;
        }
    }
    writeln!(out)
}

fn energy(out: &mut String, report: &Report) -> fmt::Result {
    let rows: Vec<_> = report.runs.iter().filter_map(words::energy_row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Energy\n")?;
    table(out, &words::ENERGY_HEAD, rows)?;
    writeln!(out, "{}\n", words::ENERGY_NOTE)
}

fn stages(out: &mut String, report: &Report) -> fmt::Result {
    if report.stages.is_empty() {
        return Ok(());
    }
    writeln!(out, "## The debugging stages\n")?;
    table(
        out,
        &words::STAGE_HEAD,
        report.stages.iter().map(words::stage_row),
    )
}

fn work(out: &mut String, report: &Report) -> fmt::Result {
    let counted = report
        .runs
        .iter()
        .rev()
        .filter_map(|run| Some((run, run.work.as_ref()?)));
    for (run, work) in counted.take(words::MOST_ROOFLINES) {
        writeln!(
            out,
            "## Work of {} ({})\n",
            markdown(&run.target),
            markdown(&run.id)
        )?;
        table(out, &words::WORK_HEAD, words::work_rows(work))?;
        writeln!(out, "{}\n", markdown(&words::ceilings(work)))?;
        writeln!(out, "{}\n", markdown(&work.source))?;
    }
    Ok(())
}

fn profiles(out: &mut String, report: &Report) -> fmt::Result {
    for profile in &report.profiles {
        writeln!(
            out,
            "## Profile of {} ({})\n",
            markdown(&profile.run),
            markdown(&profile.folder)
        )?;
        table(
            out,
            &words::HOTSPOT_HEAD,
            profile.hotspots.iter().map(words::hotspot_row),
        )?;
        for note in &profile.notes {
            writeln!(out, "{}\n", markdown(note))?;
        }
    }
    Ok(())
}

fn checks(out: &mut String, report: &Report) -> fmt::Result {
    let checks = report.lessons.iter().flat_map(|lesson| {
        lesson
            .steps
            .iter()
            .flat_map(move |step| step.checks.iter().map(move |check| (lesson, step, check)))
    });
    let rows: Vec<Vec<String>> = checks
        .map(|(lesson, step, check)| {
            vec![
                format!("{} / {} / {}", lesson.id, step.id, check.id),
                check.verdict.name().into(),
                check.missed.to_string(),
                check.explanation.clone(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Checks\n")?;
    table(out, &["Check", "Verdict", "Missed", "Measured"], rows)
}

fn kernels(out: &mut String, report: &Report) -> fmt::Result {
    if report.kernels.is_empty() {
        return Ok(());
    }
    let rows: Vec<Vec<String>> = report
        .kernels
        .iter()
        .map(|attempt| {
            let device = attempt.device.clone().unwrap_or_default();
            vec![
                attempt.exercise.clone(),
                moment(&attempt.time),
                attempt.outcome(),
                device,
            ]
        })
        .collect();
    writeln!(out, "## Kernels written\n")?;
    table(out, &["Kernel", "Time", "Outcome", "Device"], rows)
}

fn reflections(out: &mut String, report: &Report) -> fmt::Result {
    let steps = report
        .lessons
        .iter()
        .flat_map(|lesson| lesson.steps.iter().map(move |step| (lesson, step)));
    let mut first = true;
    for (lesson, step) in steps {
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
