//! CSV with one row a launch: rocprofv3's `kernel_trace`, rocprof's `results.csv`, rocprofv2's and rocprof-compute's tables.
//!
//! rocprof, rocprofv2 and rocprof-compute put counters into columns of their own behind the launch, one file with a
//! thousand columns and more; such a table becomes counter samples instead of dispatches.

use std::io::BufRead;

use super::columns::LaunchColumns;
use super::damage::{Damage, DamageLog};
use super::table::{Row, Table};
use crate::profiler::model::{CounterSample, Dispatch, NameId, ProcessId, Profile};

/// Columns that describe a launch and are no counters, in all versions of all tools.
const NO_COUNTERS: &[&str] = &[
    "guid",
    "kind",
    "index",
    "dispatch_id",
    "kernel_id",
    "kernel_name",
    "kernelname",
    "agent_id",
    "gpu_id",
    "queue_id",
    "queue_index",
    "stream_id",
    "thread_id",
    "process_id",
    "pid",
    "tid",
    "grid_size",
    "grd",
    "grid_size_x",
    "grid_size_y",
    "grid_size_z",
    "workgroup_size",
    "wgr",
    "workgroup_size_x",
    "workgroup_size_y",
    "workgroup_size_z",
    "lds",
    "lds_block_size",
    "lds_per_workgroup",
    "group_segment_size",
    "scr",
    "scratch_size",
    "scratch_per_workitem",
    "private_segment_size",
    "arch_vgpr",
    "vgpr_count",
    "arch_vgpr_count",
    "accum_vgpr",
    "accum_vgpr_count",
    "sgpr",
    "sgpr_count",
    "wave_size",
    "sig",
    "obj",
    "correlation_id",
    "dispatchns",
    "beginns",
    "endns",
    "completens",
    "durationns",
    "start_timestamp",
    "end_timestamp",
    "xcc_index",
    "node",
    "node_id",
    "unnamed:_0",
];

/// Reads every row into `profile`; the number of rows read.
pub fn read<R: BufRead>(
    table: &mut Table<R>,
    process: ProcessId,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let Some(mut launches) = LaunchColumns::find(table) else {
        return Ok(0);
    };
    let counters = counter_columns(table, profile);
    let mut rows = 0;
    let mut rounded = 0u64;
    while let Some(row) = table.next_row()? {
        match read_row(&row, &mut launches, &counters, process, profile) {
            Ok(has_time) => {
                rows += 1;
                rounded += u64::from(launches.has_time() && !has_time);
            }
            Err(damage) => log.add(damage)?,
        }
    }
    if rounded > 0 {
        profile.notes.push(format!(
            "{rounded} launches have time stamps that a spreadsheet rounded (like 8.1E+14): their durations are lost and not reported"
        ));
    }
    Ok(rows)
}

fn counter_columns<R: BufRead>(table: &Table<R>, profile: &mut Profile) -> Vec<(usize, NameId)> {
    let mut columns = Vec::new();
    for (at, column) in table.columns().iter().enumerate() {
        if !column.is_empty() && !NO_COUNTERS.contains(&without_pass(column)) {
            columns.push((at, profile.name_id(&table.headers()[at])));
        }
    }
    columns
}

/// rocprof-compute repeats `wave_size`, `obj` and the like for each pass as `wave_size_1`, `wave_size_2`, ….
fn without_pass(column: &str) -> &str {
    match column.rsplit_once('_') {
        Some((base, pass)) if !pass.is_empty() && pass.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => column,
    }
}

/// Whether the row has usable times.
fn read_row(
    row: &Row<'_>,
    launches: &mut LaunchColumns,
    counters: &[(usize, NameId)],
    process: ProcessId,
    profile: &mut Profile,
) -> Result<bool, Damage> {
    row.check_width()?;
    let launch = launches.read(row, process, profile)?;
    // Every value is looked at before the first is kept, so that a damaged row leaves nothing behind.
    let values = counters
        .iter()
        .map(|&(column, counter)| Ok((counter, row.number(column)?)))
        .collect::<Result<Vec<_>, Damage>>()?;
    let lane = profile.lane_id(launch.lane);
    if counters.is_empty() {
        profile.dispatches.push(Dispatch {
            variant: launch.variant,
            lane,
            id: launch.id,
            correlation: launch.correlation,
            time: launch.time,
        });
    }
    for (counter, value) in values {
        let Some(value) = value else { continue };
        profile.counters.push(CounterSample {
            variant: launch.variant,
            lane,
            dispatch: launch.id,
            counter,
            value,
            time: launch.time,
        });
    }
    Ok(launch.time.is_some())
}
