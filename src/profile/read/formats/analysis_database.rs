//! Reads the database that `rocprof-compute analyze --output-format db` writes.

use super::ProfileFormat;
use super::analysis_tables::{MetricIndex, Workloads, kernel, samples};
use super::instructions::InstructionCounts;
use crate::read::database::Database;
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprof-compute analysis (SQLite)",
    recognises: |file| file.has_table("compute_metadata"),
    read,
};

/// Views of metrics. They were renamed between versions of the schema.
const METRICS: [&str; 3] = [
    "compute_kernel_metric_view",
    "compute_metric_view",
    "compute_workload_metric_view",
];

const SAMPLES: [&str; 2] = [
    "compute_pc_sampling_view",
    "compute_pc_sampling_summary_view",
];

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let database = Database::open(reading.path)?;
    let workloads = Workloads::new(reading);
    let mut rows = database.for_each_row("compute_kernel_view", reading, |records, row| {
        kernel(records, row, &workloads)
    })?;
    let mut metrics = MetricIndex::default();
    for view in METRICS {
        rows += database.for_each_row(view, reading, |records, row| {
            metrics.add(records.profile, row)
        })?;
    }
    let mut counts = InstructionCounts::default();
    for view in SAMPLES {
        rows += database.for_each_row(view, reading, |records, row| {
            samples(records.profile, row, &mut counts)
        })?;
    }
    counts.keep(reading.profile);
    for view in ["compute_workload_view", "compute_workload"] {
        rows += database.facts(view, &mut reading.profile.system)?;
    }
    Ok(rows)
}
