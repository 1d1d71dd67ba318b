//! The report as Markdown.

use std::fmt::{self, Write};

use super::document::{LessonReport, Report};
use super::words::{self, moment, plural};

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
    checks(out, report)?;
    reflections(out, report)?;
    foot(out, report)
}

fn head(out: &mut String, report: &Report) -> fmt::Result {
    let who = report.learner.as_deref().unwrap_or("(name left out)");
    writeln!(out, "# Session report: {}\n", text(who))?;
    if let Some(course) = &report.course {
        writeln!(
            out,
            "- Course: {} ({})",
            text(&course.title),
            text(&course.version)
        )?;
    }
    let session = &report.session;
    writeln!(
        out,
        "- From {} to {}",
        moment(&session.begun),
        moment(&session.last)
    )?;
    writeln!(out, "- Tutor: {}", session.tutor_versions.join(", "))?;
    for device in &report.devices {
        writeln!(out, "- {}", text(&words::device(device)))?;
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
        writeln!(out, "- {}", text(item))?;
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
        let cells: Vec<String> = row.iter().map(|cell| text(cell)).collect();
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
        writeln!(
            out,
            "- `{}`: `{}`",
            run.id,
            words::printable(&run.command).replace('`', "'")
        )?;
        let remarks = run
            .recording
            .iter()
            .map(|machine| format!("Recording of {machine}."));
        for remark in remarks.chain(run.error.clone()).chain(run.warnings.clone()) {
            writeln!(out, "  - {}", text(&remark))?;
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
        writeln!(out, "## Work of {} ({})\n", run.target, run.id)?;
        table(out, &words::WORK_HEAD, words::work_rows(work))?;
        writeln!(out, "{}\n", text(&words::ceilings(work)))?;
        writeln!(out, "{}\n", text(&work.source))?;
    }
    Ok(())
}

fn profiles(out: &mut String, report: &Report) -> fmt::Result {
    for profile in &report.profiles {
        writeln!(
            out,
            "## Profile of {} ({})\n",
            text(&profile.run),
            text(&profile.folder)
        )?;
        table(
            out,
            &words::HOTSPOT_HEAD,
            profile.hotspots.iter().map(words::hotspot_row),
        )?;
        for note in &profile.notes {
            writeln!(out, "{}\n", text(note))?;
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
        writeln!(out, "### {}: {}\n", text(&lesson.title), text(&step.title))?;
        for line in reflection.lines() {
            writeln!(out, "> {}", text(line))?;
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
        "---\n\nWritten {} by tinyllama-tutor {}. {} records; hash of the last: `{}`.",
        moment(&report.written),
        report.program,
        report.chain.records,
        report.chain.last_hash
    )
}

/// Text that stays text: on one line, with nothing in it taken for a table, HTML or emphasis.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            '|' | '<' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_learner_wrote_cannot_become_markup() {
        assert_eq!(
            text("a|b <script>\n# [x](y)"),
            "a\\|b \\<script> \\# \\[x\\](y)"
        );
    }
}
