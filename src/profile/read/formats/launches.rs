//! Reads CSV with one row a launch: rocprof's `results.csv`, rocprofv2's and rocprof-compute's tables.
//!
//! They put counters into separate columns after the launch, in one file a thousand columns and more. Such a table becomes
//! counter samples, not dispatches.

use super::ProfileFormat;
use crate::model::NameId;
use crate::read::damage::Damage;
use crate::read::durations::KernelDurations;
use crate::read::fields::{Field, is_known};
use crate::read::records::ProfileRowWriter;
use crate::read::table::CsvTable;
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "launches with their counters (CSV)",
    recognises: |file| {
        // A table with a counter a row is another format, and so is Nsight Compute's.
        let is_another = file.has_one_of(&["counter_value", "host_name"]);
        file.names_kernels() && file.has_one_of(&["grid_size", "grd"]) && !is_another
    },
    read: |reading| read(reading, true),
};

/// Columns that describe a launch and are not counters, in addition to the fields that are read.
const NO_COUNTERS: &str = "guid kind kernel_id queue_index process_id pid wave_size sig obj dispatchns completens durationns \
     xcc_index node unnamed:_0 scratch_size private_segment_size scratch_per_workitem scr";

/// Reads a table. A trace of launches has no counters: its unknown columns are ignored, and a note names them.
pub(super) fn read(reading: &mut FileImport<'_>, has_counters: bool) -> RowCount {
    let mut table = reading.table()?;
    let unknown = unknown_columns(&table);
    let is_counter = |at: &usize| has_counters && !describes(&table.columns[*at]);
    let (counters, left): (Vec<usize>, Vec<usize>) = unknown.into_iter().partition(is_counter);
    if !left.is_empty() {
        let names = itertools::join(left.iter().map(|at| &table.headers[*at]), ", ");
        let note = format!("unknown columns were skipped: {names}");
        reading.profile.notes.push(note);
    }
    let counters: Vec<(usize, NameId)> = counters
        .into_iter()
        .map(|at| (at, reading.profile.name_id(&table.headers[at])))
        .collect();
    let is_timed = table.has(Field::Start) && table.has(Field::End);
    let duration = duration_column(&table).filter(|_| !is_timed);
    let process = reading.process();
    let mut durations = KernelDurations::new(process);
    let mut records = ProfileRowWriter::new(reading.profile, process, reading.guids);
    let mut rounded = 0u64;
    let rows = table.for_each_row(reading.log, |row| {
        let launch = records.launch(row)?;
        // Every value is checked before the first is kept, so that a damaged row leaves nothing behind.
        let values = counters
            .iter()
            .map(|&(column, counter)| Ok((counter, row.number_at(column)?)))
            .collect::<Result<Vec<_>, Damage>>()?;
        if let Some((column, ns)) = duration {
            let value = row.number_at(column)?.filter(|value| *value >= 0.0);
            let value =
                value.ok_or_else(|| row.damage(column, "is empty or negative".to_owned()))?;
            let kernel = records.profile.variant(launch.variant).kernel;
            durations.add(kernel, value * ns);
        }
        if counters.is_empty() {
            records.profile.dispatches.push(launch);
        }
        let samples = values
            .into_iter()
            .filter_map(|(counter, value)| Some(launch.sample(counter, value?)));
        records.profile.counters.extend(samples);
        rounded += u64::from(is_timed && launch.time.is_none());
        Ok(())
    })?;
    durations.keep(reading.profile);
    reading.profile.notes.extend(table.shortened());
    if rounded > 0 {
        reading.profile.notes.push(format!(
            "{rounded} launches have time stamps that a spreadsheet rounded (like 8.1E+14): their durations are lost and not reported"
        ));
    }
    Ok(rows)
}

/// Indices of the columns that are not a field of a launch.
fn unknown_columns(table: &CsvTable) -> Vec<usize> {
    let is_unknown = |column: &String| {
        let name = without_pass(column);
        let is_counter = || NO_COUNTERS.split(' ').all(|other| other != name);
        let is_duration = duration_unit(column).is_some();
        !column.is_empty() && !is_known(name) && !is_duration && is_counter()
    };
    let columns = table.columns.iter().enumerate();
    columns
        .filter(|(_, column)| is_unknown(column))
        .map(|(at, _)| at)
        .collect()
}

/// Nanoseconds in the unit of a column with durations, such as `time,us`.
fn duration_unit(column: &str) -> Option<f64> {
    let unit = ["time,", "time_", "duration_", "duration("];
    let unit = unit.iter().find_map(|start| column.strip_prefix(start));
    match unit?.trim_end_matches(')') {
        "ns" | "nsec" => Some(1.0),
        "us" | "usec" => Some(1e3),
        "ms" | "msec" => Some(1e6),
        _ => None,
    }
}

/// Index of the durations, and nanoseconds in their unit.
fn duration_column(table: &CsvTable) -> Option<(usize, f64)> {
    let mut columns = table.columns.iter().enumerate();
    columns.find_map(|(at, column)| Some((at, duration_unit(column)?)))
}

/// Returns whether a column contains an id, a name or a type. No counter's name ends like that.
fn describes(column: &str) -> bool {
    let name = without_pass(column);
    ["_id", "_name", "_type"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// rocprof-compute repeats columns such as `wave_size` and `obj` for each pass: `wave_size_1`, `wave_size_2`, ….
fn without_pass(column: &str) -> &str {
    match column.rsplit_once('_') {
        Some((base, pass)) if !pass.is_empty() && pass.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => column,
    }
}
