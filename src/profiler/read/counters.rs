//! CSV with one row a launch and counter: rocprofv3's `counter_collection`, rocprof-compute's long `pmc_perf`.

use std::io::BufRead;

use super::columns::LaunchColumns;
use super::damage::{Damage, DamageLog};
use super::table::{Row, Table};
use crate::profiler::model::{CounterSample, ProcessId, Profile};

/// Reads every row into `profile`; the number of rows read.
pub fn read<R: BufRead>(
    table: &mut Table<R>,
    process: ProcessId,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let (Some(mut launches), Some(name), Some(value)) = (
        LaunchColumns::find(table),
        table.find(&["counter_name"]),
        table.find(&["counter_value"]),
    ) else {
        return Ok(0);
    };
    let mut rows = 0;
    while let Some(row) = table.next_row()? {
        match read_row(&row, &mut launches, name, value, process, profile) {
            Ok(()) => rows += 1,
            Err(damage) => log.add(damage)?,
        }
    }
    Ok(rows)
}

fn read_row(
    row: &Row<'_>,
    launches: &mut LaunchColumns,
    name: usize,
    value: usize,
    process: ProcessId,
    profile: &mut Profile,
) -> Result<(), Damage> {
    row.check_width()?;
    let launch = launches.read(row, process, profile)?;
    let counter = row.text(name)?;
    if counter.is_empty() {
        return Err(row.damage(name, "is empty; a counter's name is needed".to_owned()));
    }
    // A counter the hardware could not collect has no value.
    let Some(value) = row.number(value)? else {
        return Ok(());
    };
    let sample = CounterSample {
        variant: launch.variant,
        lane: profile.lane_id(launch.lane),
        dispatch: launch.id,
        counter: profile.name_id(counter),
        value,
        time: launch.time,
    };
    profile.counters.push(sample);
    Ok(())
}
