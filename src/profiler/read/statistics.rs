//! CSV of summaries the profiler computed: `kernel_stats`, `hip_api_stats`, `domain_stats`, rocprof's `results.stats.csv`.

use std::io::BufRead;
use std::path::Path;

use super::damage::{Damage, DamageLog};
use super::table::{Row, Table};
use crate::profiler::model::{Profile, Statistic, StatisticKind};

struct StatisticColumns {
    name: usize,
    calls: usize,
    total: usize,
    min: Option<usize>,
    max: Option<usize>,
    deviation: Option<usize>,
}

/// Reads every row into `profile`; the number of rows read.
pub fn read<R: BufRead>(
    table: &mut Table<R>,
    path: &Path,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let (Some(name), Some(calls), Some(total)) = (
        table.find(&["name"]),
        table.find(&["calls"]),
        table.find(&["totaldurationns"]),
    ) else {
        return Ok(0);
    };
    let columns = StatisticColumns {
        name,
        calls,
        total,
        min: table.find(&["minns"]),
        max: table.find(&["maxns"]),
        deviation: table.find(&["stddev"]),
    };
    let kind = kind_from_file_name(path);
    let mut rows = 0;
    while let Some(row) = table.next_row()? {
        match read_row(&row, &columns, kind, profile) {
            Ok(()) => rows += 1,
            Err(damage) => log.add(damage)?,
        }
    }
    Ok(rows)
}

fn read_row(
    row: &Row<'_>,
    columns: &StatisticColumns,
    kind: Option<StatisticKind>,
    profile: &mut Profile,
) -> Result<(), Damage> {
    row.check_width()?;
    let name = row.text(columns.name)?;
    let needed = |column: usize| {
        row.number(column)?
            .filter(|number| *number >= 0.0)
            .ok_or_else(|| row.damage(column, "is empty or negative".to_owned()))
    };
    let maybe = |column: Option<usize>| column.map_or(Ok(None), |column| row.number(column));
    let statistic = Statistic {
        kind: kind.unwrap_or_else(|| kind_from_name(name)),
        calls: row
            .whole(columns.calls)?
            .ok_or_else(|| row.damage(columns.calls, "is empty".to_owned()))?,
        total_ns: needed(columns.total)?,
        min_ns: maybe(columns.min)?,
        max_ns: maybe(columns.max)?,
        standard_deviation_ns: maybe(columns.deviation)?,
        name: profile.name_id(name),
    };
    profile.statistics.push(statistic);
    Ok(())
}

fn kind_from_file_name(path: &Path) -> Option<StatisticKind> {
    let name = path.file_name()?.to_str()?.to_lowercase();
    if name.contains("kernel_stats") || name == "results.stats.csv" {
        Some(StatisticKind::Kernel)
    } else if name.contains("domain_stats") {
        Some(StatisticKind::Domain)
    } else if name.contains("memory_copy_stats") || name.contains("copy_stats") {
        Some(StatisticKind::MemoryCopy)
    } else if name.contains("_api_stats")
        || name.contains("hip_stats")
        || name.contains("hsa_stats")
    {
        Some(StatisticKind::Api)
    } else {
        None
    }
}

/// What a row of a renamed file is about: calls and domains have names no kernel has.
pub fn kind_from_name(name: &str) -> StatisticKind {
    const DOMAINS: &[&str] = &[
        "HIP_API",
        "HSA_API",
        "KERNEL_DISPATCH",
        "MEMORY_COPY",
        "MARKER_API",
        "RCCL_API",
        "MEMORY_ALLOCATION",
        "SCRATCH_MEMORY",
    ];
    let is_hip_call = name
        .strip_prefix("hip")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    if DOMAINS.contains(&name) {
        StatisticKind::Domain
    } else if name.starts_with("MEMORY_COPY_") {
        StatisticKind::MemoryCopy
    } else if name.starts_with("MEMORY_ALLOCATION_") || name.starts_with("SCRATCH_MEMORY_") {
        StatisticKind::Allocation
    } else if is_hip_call
        || name.starts_with("__hip")
        || name.starts_with("hsa_")
        || name.starts_with("nccl")
    {
        StatisticKind::Api
    } else {
        StatisticKind::Kernel
    }
}
