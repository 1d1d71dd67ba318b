//! Which of the CSV formats a file is, by its header.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::Format;
use super::damage::{Damage, DamageLog};
use super::table::Table;
use super::{calls, counters, machine, statistics, trace};
use crate::profiler::model::{ProcessId, Profile};

/// The format of a table; `None` when no tool writes such a header.
pub fn recognise<R: BufRead>(table: &Table<R>) -> Option<Format> {
    let kernel = table.find(&["kernel_name", "kernelname"]).is_some();
    let timed = table.find(&["start_timestamp", "beginns"]).is_some();
    if kernel && table.has(&["counter_name", "counter_value"]) {
        Some(Format::CounterCollection)
    } else if kernel && table.has(&["kind"]) && timed {
        Some(Format::KernelTrace)
    } else if kernel && table.find(&["grid_size", "grd"]).is_some() {
        Some(Format::LaunchTable)
    } else if kernel && table.has(&["dispatch_id", "gpu_id"]) {
        Some(Format::DispatchList)
    } else if table.has(&["domain", "function"]) && timed {
        Some(Format::ApiTrace)
    } else if table.has(&["direction"]) && timed {
        Some(Format::MemoryCopyTrace)
    } else if table.has(&["operation"]) && timed {
        Some(Format::AllocationTrace)
    } else if table.has(&["name", "calls", "totaldurationns"]) {
        Some(Format::Statistics)
    } else if table.has(&["agent_type", "name"])
        && table.find(&["logical_node_id", "node_id"]).is_some()
    {
        Some(Format::Agents)
    } else if table.has(&["sample_timestamp", "instruction"]) {
        Some(Format::ProgramCounterSamples)
    } else if table.has(&["gpu_arch", "command"]) {
        Some(Format::ComputeSystem)
    } else if table.find(&["device", "devid"]).is_some() && table.has(&["hbmbw"]) {
        Some(Format::ComputeRoofline)
    } else {
        None
    }
}

/// Reads a recognised table; the number of rows read.
pub fn read<R: BufRead>(
    table: &mut Table<R>,
    format: Format,
    path: &Path,
    process: ProcessId,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    match format {
        Format::KernelTrace | Format::LaunchTable => trace::read(table, process, profile, log),
        Format::CounterCollection => counters::read(table, process, profile, log),
        Format::ApiTrace => calls::read_calls(table, process, profile, log),
        Format::MemoryCopyTrace => calls::read_copies(table, process, profile, log),
        Format::AllocationTrace => calls::read_allocations(table, process, profile, log),
        Format::ProgramCounterSamples => calls::read_samples(table, profile, log),
        Format::Statistics => statistics::read(table, path, profile, log),
        Format::Agents => machine::read_agents(table, profile, log),
        Format::ComputeSystem => machine::read_system(table, profile, log),
        Format::ComputeRoofline => machine::read_ceilings(table, profile, log),
        _ => Ok(0),
    }
}

/// The mark of the database a file was exported from, in its first row.
pub fn guid(path: &Path) -> Result<Option<String>, Damage> {
    let file = File::open(path).map_err(|error| Damage::io(path, &error))?;
    let mut table = Table::open(path, BufReader::new(file))?;
    let Some(column) = table.find(&["guid"]) else {
        return Ok(None);
    };
    match table.next_row()? {
        Some(row) => Ok(Some(row.text(column)?.to_owned())),
        None => Ok(None),
    }
}
