//! Reads the database that `rocprof-compute analyze --output-format db` writes.

use std::collections::HashMap;

use super::{FormatContent, ProfileFormat};
use crate::model::{ProfilerMetric, StatisticKind};
use crate::name;
use crate::read::database::Database;
use crate::read::fields::{Field, FieldSource};
use crate::read::{FileImport, RowCount};
use tinyllama_base::units::Percentage;

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprof-compute analysis (SQLite)",
    recognises: |file| file.has_table("compute_metadata"),
    read,
    content: FormatContent::Part,
};

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let database = Database::open(reading.path)?;
    let mut rows = database.for_each_row("compute_kernel_view", reading, |records, row| {
        records.statistic(row, None, |name| {
            (StatisticKind::Kernel, name::strip_suffix(name))
        })
    })?;
    let mut places = MetricIndex::default();
    // The view and its column of names were renamed between schema versions.
    for view in ["compute_kernel_metric_view", "compute_metric_view"] {
        rows += database.for_each_row(view, reading, |records, row| {
            places.add(&mut records.profile.metrics, row)
        })?;
    }
    for view in ["compute_workload_view", "compute_workload"] {
        rows += database.facts(view, &mut reading.profile.system)?;
    }
    Ok(rows)
}

/// Index of each metric, by table, name and kernel.
#[derive(Default)]
struct MetricIndex(HashMap<(String, String, Option<String>), usize>);

impl MetricIndex {
    /// Adds one figure to a metric: its value, its peak, its share of the peak, or another such as its minimum.
    fn add<R: FieldSource>(
        &mut self,
        metrics: &mut Vec<ProfilerMetric>,
        row: &R,
    ) -> Result<(), R::Problem> {
        let table = match row.text(Field::SubTable)? {
            Some(table) => Some(table),
            None => row.text(Field::Table)?,
        };
        let (kernel, value) = (row.text(Field::Kernel)?, row.any_number(Field::Value)?);
        // A division by zero gives an `inf`, which has no meaning.
        let value = value.filter(|value| value.is_finite());
        let mut metric = ProfilerMetric {
            table: table.unwrap_or_default().to_owned(),
            name: row.needed_text(Field::Metric)?.to_owned(),
            value: None,
            unit: row.text(Field::Unit)?.unwrap_or_default().to_owned(),
            peak: None,
            percent_of_peak: None,
            kernel: kernel.map(|kernel| name::strip_suffix(kernel).to_owned()),
        };
        let name = row.text(Field::Figure)?.unwrap_or_default();
        let lower = name.to_lowercase();
        let is_peak = lower.starts_with("peak");
        let is_share = lower.starts_with("pct") || lower.starts_with("percent");
        let is_value = ["", "value", "avg"].contains(&lower.as_str());

        if !(is_peak || is_share || is_value) {
            metric.name = format!("{} ({name})", metric.name);
        }
        let unit = metric.unit.clone();
        let (table, kernel) = (metric.table.clone(), metric.kernel.clone());
        let key = (table, metric.name.clone(), kernel);
        let place = *self.0.entry(key).or_insert_with(|| {
            metrics.push(metric);
            metrics.len() - 1
        });
        let metric = &mut metrics[place];
        match (is_peak, is_share) {
            (true, _) => metric.peak = value,
            (_, true) => metric.percent_of_peak = value.map(Percentage),
            _ => (metric.value, metric.unit) = (value, unit),
        }
        Ok(())
    }
}
