//! The class as CSV, one table a file.

use csv::Writer;

use super::document::{ClassReport, Middle};

/// Name and content of each file.
///
/// # Errors
/// When a row cannot be written.
pub fn render(class: &ClassReport) -> Result<Vec<(&'static str, String)>, csv::Error> {
    let learners = table(
        &[
            "learner",
            "steps_finished",
            "steps",
            "lessons_finished",
            "minutes",
            "attempts",
            "hints",
            "runs",
            "last",
            "device",
            "intact",
        ],
        class.learners.iter().map(|row| {
            vec![
                plain(&row.name),
                row.steps_finished.to_string(),
                row.steps.to_string(),
                row.lessons_finished.to_string(),
                format!("{:.1}", row.minutes),
                row.attempts.to_string(),
                row.hints.to_string(),
                row.runs.to_string(),
                row.last.clone(),
                plain(row.device.as_deref().unwrap_or_default()),
                row.intact
                    .map_or_else(String::new, |intact| intact.to_string()),
            ]
        }),
    )?;
    let lessons = table(
        &[
            "lesson",
            "title",
            "planned_minutes",
            "begun",
            "finished",
            "minutes_median",
            "minutes_p10",
            "minutes_p90",
            "attempts",
            "hints",
        ],
        class.lessons.iter().map(|row| {
            let mut cells = vec![
                plain(&row.id),
                plain(&row.title),
                row.planned_minutes
                    .map_or_else(String::new, |planned| planned.to_string()),
                row.begun.to_string(),
                row.finished.to_string(),
            ];
            cells.extend(middle(row.minutes.as_ref()));
            cells.extend([row.attempts.to_string(), row.hints.to_string()]);
            cells
        }),
    )?;
    let checks = table(
        &[
            "lesson",
            "step",
            "check",
            "learners",
            "missed_by",
            "misses",
            "passed",
        ],
        class.checks.iter().map(|row| {
            let counts = [row.learners, row.missed_by, row.misses as usize, row.passed];
            let names = [&row.lesson, &row.step, &row.check].map(|name| plain(name));
            names
                .into_iter()
                .chain(counts.map(|count| count.to_string()))
                .collect()
        }),
    )?;
    let devices = table(
        &[
            "device",
            "backend",
            "target",
            "model",
            "dtype",
            "recording",
            "learners",
            "step_ms_median",
            "step_ms_p10",
            "step_ms_p90",
            "speedup_median",
            "speedup_p10",
            "speedup_p90",
        ],
        class.devices.iter().map(|row| {
            let names = [
                &row.device,
                &row.backend,
                &row.target,
                &row.model,
                &row.dtype,
            ]
            .map(|name| plain(name));
            let mut cells = names.to_vec();
            cells.extend([row.recording.to_string(), row.learners.to_string()]);
            cells.extend(middle(Some(&row.step_ms)));
            cells.extend(middle(row.speedup.as_ref()));
            cells
        }),
    )?;
    Ok(vec![
        ("learners.csv", learners),
        ("lessons.csv", lessons),
        ("checks.csv", checks),
        ("devices.csv", devices),
    ])
}

fn middle(middle: Option<&Middle>) -> [String; 3] {
    let figures = middle
        .map(|middle| [middle.median, middle.p10, middle.p90].map(|value| format!("{value:.3}")));
    figures.unwrap_or_default()
}

/// A text that no spreadsheet takes for a formula.
fn plain(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_string(),
    }
}

fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(head)?;
    for row in rows {
        writer.write_record(row)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
