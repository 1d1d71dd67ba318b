//! Reads the tables that `rocprof-compute analyze --output-format csv` writes, one file each: kernels, metrics of kernels and
//! of workloads, and samples of the program counter. Its database has the same columns.
//!
//! Kernels are told apart by their full names. Short names, which newer versions add, belong to several.

use std::collections::{BTreeMap, HashMap};

use super::ProfileFormat;
use super::instructions::{InstructionCounts, InstructionPlace};
use crate::model::{ProcessId, Profile, ProfilerMetric, StatisticKind};
use crate::name;
use crate::read::fields::{Field, FieldSource};
use crate::read::records::ProfileRowWriter;
use crate::read::{FileImport, ReadRefusal};
use tinyllama_base::units::Percentage;

pub const KERNELS: ProfileFormat = ProfileFormat {
    name: "rocprof-compute analysis, kernels (CSV)",
    recognises: |file| file.has(&["kernel_name", "dispatch_count", "duration_ns_sum"]),
    read: |reading| {
        let workloads = Workloads::new(reading);
        reading.rows(|records, row| kernel(records, row, &workloads))
    },
};

pub const METRICS: ProfileFormat = ProfileFormat {
    name: "rocprof-compute analysis, metrics (CSV)",
    recognises: |file| file.has(&["metric_name", "value_name", "value"]),
    read: |reading| {
        let mut metrics = MetricIndex::default();
        reading.rows(|records, row| metrics.add(records.profile, row))
    },
};

pub const SAMPLES: ProfileFormat = ProfileFormat {
    name: "rocprof-compute analysis, samples (CSV)",
    recognises: |file| file.has(&["kernel_name", "offset", "instruction", "count"]),
    read: |reading| {
        let mut counts = InstructionCounts::default();
        let rows = reading.rows(|records, row| samples(records.profile, row, &mut counts))?;
        counts.keep(reading.profile);
        Ok(rows)
    },
};

/// Defines a table of the same folder that is not read.
macro_rules! passed_over {
    ($constant:ident, $table:literal, $columns:expr, $reason:literal) => {
        pub const $constant: ProfileFormat = ProfileFormat {
            name: concat!("rocprof-compute analysis, ", $table, " (CSV)"),
            recognises: |file| file.has(&$columns),
            read: |_| Err(ReadRefusal::PassedOver($reason.to_owned())),
        };
    };
}

passed_over!(
    SOURCES,
    "source lines",
    ["file_path", "line_number", "content"],
    "has the text of source files: pc_sampling_summary.csv of the same folder has the samples"
);

passed_over!(
    INSTRUCTIONS,
    "instructions of a kernel",
    ["code_object_offset", "instruction_line", "total_count"],
    "has the instructions of one kernel without its name: pc_sampling_summary.csv has the samples of all kernels"
);

passed_over!(
    ROOFLINES,
    "rooflines",
    ["workload_id", "workload_sub_name"],
    "has rooflines that were derived from a workload: import the workload's own folder, with its counters and roofline.csv"
);

/// The workloads in one file. Each is a run.
pub struct Workloads {
    file: String,
    of_file: ProcessId,
}

impl Workloads {
    pub fn new(reading: &mut FileImport<'_>) -> Self {
        Workloads {
            file: reading.path.to_string_lossy().into_owned(),
            of_file: reading.process(),
        }
    }

    /// The name of a row's workload. `None` in files that do not say. Several may have one name, and the files of a folder
    /// need not have all of them, so later ones have their number too.
    fn name<R: FieldSource>(row: &R) -> Result<Option<String>, R::Problem> {
        let number = row.unsigned(Field::WorkloadId)?.unwrap_or(1);
        let name = row.text(Field::Workload)?;
        Ok(name.map(|name| match number {
            0 | 1 => name.to_owned(),
            _ => format!("{name} (workload {number})"),
        }))
    }

    fn process<R: FieldSource>(
        &self,
        row: &R,
        profile: &mut Profile,
    ) -> Result<ProcessId, R::Problem> {
        let name = Self::name(row)?;
        Ok(name.map_or(self.of_file, |name| {
            profile.process_id(&name, &self.file, None)
        }))
    }
}

/// Adds the sum of a kernel's launches.
pub fn kernel<R: FieldSource>(
    records: &mut ProfileRowWriter<'_>,
    row: &R,
    workloads: &Workloads,
) -> Result<(), R::Problem> {
    let process = workloads.process(row, records.profile)?;
    records.statistic(row, process, |name| {
        (StatisticKind::Kernel, name::strip_suffix(name))
    })
}

/// Run, table, number, name and kernel of a metric.
type MetricKey = (Option<String>, String, String, String, Option<String>);

/// Index of each metric.
#[derive(Default)]
pub struct MetricIndex(HashMap<MetricKey, usize>);

impl MetricIndex {
    /// Adds one figure to a metric: its value, its peak, its share of the peak, or another such as its minimum.
    pub fn add<R: FieldSource>(
        &mut self,
        profile: &mut Profile,
        row: &R,
    ) -> Result<(), R::Problem> {
        let table = match row.text(Field::SubTable)?.filter(|table| !table.is_empty()) {
            Some(table) => Some(table),
            None => row.text(Field::Table)?,
        };
        let (kernel, value) = (row.text(Field::Kernel)?, row.any_number(Field::Value)?);
        // A division by zero gives an `inf`, which has no meaning.
        let value = value.filter(|value| value.is_finite());
        let mut metric = ProfilerMetric {
            run: Workloads::name(row)?,
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
        let number = row.text(Field::MetricId)?.unwrap_or_default().to_owned();
        let (run, table, kernel) = (
            metric.run.clone(),
            metric.table.clone(),
            metric.kernel.clone(),
        );
        let key = (run, table, number, metric.name.clone(), kernel);
        let metrics = &mut profile.metrics;
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

/// Adds the samples at one instruction of a kernel.
pub fn samples<R: FieldSource>(
    profile: &mut Profile,
    row: &R,
    counts: &mut InstructionCounts,
) -> Result<(), R::Problem> {
    let place = InstructionPlace {
        kernel: name::strip_suffix(row.text(Field::Kernel)?.unwrap_or_default()),
        code_object: row.unsigned(Field::CodeObject)?,
        address: row.unsigned(Field::Offset)?,
        instruction: row.text(Field::Instruction)?.unwrap_or_default(),
        line: row.text(Field::SourceLine)?.unwrap_or_default(),
        stall: "",
    };
    let reasons = row.text(Field::Stall)?.unwrap_or_default();
    let reasons: BTreeMap<String, u64> = serde_json::from_str(reasons).unwrap_or_default();
    let mut others = row.needed(Field::Samples, row.unsigned(Field::Samples)?)?;
    for (stall, samples) in reasons {
        let samples = samples.min(others);
        others -= samples;
        let stall = stall
            .rsplit_once("REASON_")
            .map_or(stall.as_str(), |(_, it)| it);
        counts.add(
            profile,
            InstructionPlace { stall, ..place },
            (samples, None),
        );
    }
    if others > 0 {
        counts.add(profile, place, (others, None));
    }
    Ok(())
}
