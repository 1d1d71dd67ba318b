//! The class as CSV, one table a file.

use csv::Writer;

use super::document::{ClassReport, DeviceRow, LessonRow, Middle};
use crate::report::table::Table;

/// Name and content of each file.
///
/// # Errors
/// When a row cannot be written.
pub fn render(class: &ClassReport) -> Result<Vec<(&'static str, String)>, csv::Error> {
    let learners = Table::of(&class.learners)
        .text("learner", |row| plain(&row.name))
        .text("steps_finished", |row| row.steps_finished)
        .text("steps", |row| row.steps)
        .text("lessons_finished", |row| row.lessons_finished)
        .text("minutes", |row| format!("{:.1}", row.minutes))
        .text("attempts", |row| row.attempts)
        .text("hints", |row| row.hints)
        .text("runs", |row| row.runs)
        .text("last", |row| row.last.clone())
        .text("device", |row| {
            plain(row.device.as_deref().unwrap_or_default())
        })
        .text("intact", |row| or_empty(row.intact));
    let minutes = middle(|row: &&LessonRow| row.minutes);
    let lessons = Table::of(&class.lessons)
        .text("lesson", |row| plain(&row.id))
        .text("title", |row| plain(&row.title))
        .text("planned_minutes", |row| or_empty(row.planned_minutes))
        .text("begun", |row| row.begun)
        .text("finished", |row| row.finished)
        .text("minutes_median", &minutes[0])
        .text("minutes_p10", &minutes[1])
        .text("minutes_p90", &minutes[2])
        .text("attempts", |row| row.attempts)
        .text("hints", |row| row.hints);
    let checks = Table::of(&class.checks)
        .text("lesson", |row| plain(&row.lesson))
        .text("step", |row| plain(&row.step))
        .text("check", |row| plain(&row.check))
        .text("learners", |row| row.learners)
        .text("missed_by", |row| row.missed_by)
        .text("misses", |row| row.misses)
        .text("passed", |row| row.passed);
    let step_ms = middle(|row: &&DeviceRow| Some(row.step_ms));
    let speedup = middle(|row: &&DeviceRow| row.speedup);
    let devices = Table::of(&class.devices)
        .text("device", |row| plain(&row.device))
        .text("backend", |row| plain(&row.backend))
        .text("target", |row| plain(&row.target))
        .text("model", |row| plain(&row.model))
        .text("dtype", |row| plain(&row.dtype))
        .text("recording", |row| row.recording)
        .text("learners", |row| row.learners)
        .text("step_ms_median", &step_ms[0])
        .text("step_ms_p10", &step_ms[1])
        .text("step_ms_p90", &step_ms[2])
        .text("speedup_median", &speedup[0])
        .text("speedup_p10", &speedup[1])
        .text("speedup_p90", &speedup[2]);
    Ok(vec![
        ("learners.csv", written(&learners)?),
        ("lessons.csv", written(&lessons)?),
        ("checks.csv", written(&checks)?),
        ("devices.csv", written(&devices)?),
    ])
}

/// What the columns of a spread say: its median, p10 and p90.
fn middle<T>(of: impl Fn(&T) -> Option<Middle> + Copy) -> [impl Fn(&T) -> String; 3] {
    let figures: [fn(Middle) -> f64; 3] = [|of| of.median, |of| of.p10, |of| of.p90];
    figures.map(|figure| {
        move |row: &T| of(row).map_or_else(String::new, |of| format!("{:.3}", figure(of)))
    })
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A text that no spreadsheet takes for a formula.
fn plain(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_string(),
    }
}

fn written<T>(table: &Table<T>) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(table.columns.iter().map(|(name, _)| name))?;
    for row in &table.rows {
        writer.write_record(row)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
