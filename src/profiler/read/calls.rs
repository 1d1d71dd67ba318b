//! CSV of rocprofv3 with one row an API call, a marker, a memory copy, an allocation or a sample of the program counter.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::columns::{LaneColumns, TimeColumns, optional};
use super::damage::{Damage, DamageLog};
use super::table::{Row, Table};
use crate::profiler::model::{
    Allocation, ApiCall, InstructionSamples, MemoryCopy, NameId, ProcessId, Profile,
};

/// Applies `read_row` to every row; the number of good rows.
fn each_row<R: BufRead>(
    table: &mut Table<R>,
    log: &mut DamageLog,
    mut read_row: impl FnMut(&Row<'_>) -> Result<(), Damage>,
) -> Result<u64, Damage> {
    let mut rows = 0;
    while let Some(row) = table.next_row()? {
        match row.check_width().and_then(|()| read_row(&row)) {
            Ok(()) => rows += 1,
            Err(damage) => log.add(damage)?,
        }
    }
    Ok(rows)
}

/// `hip_api_trace`, `hsa_api_trace`, `marker_api_trace`, `rccl_api_trace`, ….
pub fn read_calls<R: BufRead>(
    table: &mut Table<R>,
    process: ProcessId,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let (Some(domain), Some(function), Some(times)) = (
        table.find(&["domain"]),
        table.find(&["function"]),
        TimeColumns::find(table),
    ) else {
        return Ok(0);
    };
    let lanes = LaneColumns::find(table);
    each_row(table, log, |row| {
        let time = times.read(row)?;
        let lane = lanes.read(row, process)?;
        let correlation = lanes.correlation(row)?;
        let (domain, function) = (row.text(domain)?, row.text(function)?);
        let call = ApiCall {
            domain: profile.name_id(domain),
            function: profile.name_id(function),
            lane: profile.lane_id(lane),
            correlation,
            time,
        };
        profile.calls.push(call);
        Ok(())
    })
}

/// `memory_copy_trace`.
pub fn read_copies<R: BufRead>(
    table: &mut Table<R>,
    process: ProcessId,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let (Some(direction), Some(times)) = (table.find(&["direction"]), TimeColumns::find(table))
    else {
        return Ok(0);
    };
    let source = table.find(&["source_agent_id"]);
    let destination = table.find(&["destination_agent_id"]);
    // rocprofv3 writes no sizes to CSV; the tutor's own export does.
    let bytes = table.find(&["bytes"]);
    let lanes = LaneColumns::find(table);
    each_row(table, log, |row| {
        let time = times.read(row)?;
        let lane = lanes.read(row, process)?;
        let correlation = lanes.correlation(row)?;
        let source = optional(row, source)?;
        let destination = optional(row, destination)?;
        let bytes = optional(row, bytes)?;
        let direction = row.text(direction)?;
        let copy = MemoryCopy {
            lane: profile.lane_id(lane),
            direction: profile.name_id(direction),
            source,
            destination,
            bytes,
            correlation,
            time,
        };
        profile.copies.push(copy);
        Ok(())
    })
}

/// `memory_allocation_trace` and `scratch_memory_trace`.
pub fn read_allocations<R: BufRead>(
    table: &mut Table<R>,
    process: ProcessId,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let (Some(operation), Some(times)) = (table.find(&["operation"]), TimeColumns::find(table))
    else {
        return Ok(0);
    };
    let size = table.find(&["allocation_size"]);
    let address = table.find(&["address"]);
    let lanes = LaneColumns::find(table);
    each_row(table, log, |row| {
        let time = times.read(row)?;
        let lane = lanes.read(row, process)?;
        let bytes = optional(row, size)?;
        let address = optional(row, address)?;
        let operation = row.text(operation)?;
        let allocation = Allocation {
            operation: profile.name_id(operation),
            lane: profile.lane_id(lane),
            bytes,
            address,
            time,
        };
        profile.allocations.push(allocation);
        Ok(())
    })
}

/// `pc_sampling_host_trap` and `pc_sampling_stochastic`, counted by instruction.
pub fn read_samples<R: BufRead>(
    table: &mut Table<R>,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let Some(instruction) = table.find(&["instruction"]) else {
        return Ok(0);
    };
    let mut counts: BTreeMap<NameId, u64> = BTreeMap::new();
    let rows = each_row(table, log, |row| {
        let instruction = row.text(instruction)?;
        *counts.entry(profile.name_id(instruction)).or_default() += 1;
        Ok(())
    })?;
    profile
        .instructions
        .extend(
            counts
                .into_iter()
                .map(|(instruction, samples)| InstructionSamples {
                    instruction,
                    samples,
                }),
        );
    Ok(rows)
}
