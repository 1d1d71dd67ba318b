//! The database `rocprof-compute analyze --output-format db` writes.

use super::Format;
use crate::profiler::model::{Metric, StatisticKind};
use crate::profiler::name;
use crate::profiler::read::Reading;
use crate::profiler::read::Rows;
use crate::profiler::read::database::Database;
use crate::profiler::read::fields::{Field, Row};

pub const FORMAT: Format = Format {
    name: "rocprof-compute analysis (SQLite)",
    recognises: |file| file.has_table("compute_metadata"),
    read,
    tells_all: false,
};

fn read(reading: &mut Reading<'_>) -> Rows {
    let database = Database::open(reading.path)?;
    let mut rows = database.each("compute_kernel_view", reading, |records, row| {
        records.statistic(row, |name| {
            (StatisticKind::Kernel, name::strip_suffix(name))
        })
    })?;
    // The view and its column of names were renamed between schema versions.
    for view in ["compute_kernel_metric_view", "compute_metric_view"] {
        rows += database.each(view, reading, |records, row| {
            records.profile.metrics.push(metric(row)?);
            Ok(())
        })?;
    }
    Ok(rows)
}

fn metric<R: Row>(row: &R) -> Result<Metric, R::Problem> {
    let name = row.needed_text(Field::Metric)?;
    let table = match row.text(Field::SubTable)? {
        Some(table) => Some(table),
        None => row.text(Field::Table)?,
    };
    Ok(Metric {
        // A metric has a row for each of its figures: average, minimum, peak, ….
        name: match row.text(Field::Figure)? {
            None | Some("Value" | "Avg" | "") => name.to_owned(),
            Some(figure) => format!("{name} ({figure})"),
        },
        table: table.unwrap_or_default().to_owned(),
        value: row.number(Field::Value)?,
        unit: row.text(Field::Unit)?.unwrap_or_default().to_owned(),
        peak: None,
        percent_of_peak: None,
        kernel: row.text(Field::Kernel)?.map(str::to_owned),
    })
}
