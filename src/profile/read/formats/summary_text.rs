//! Reads the output of `rocprofv3 --summary`: `ROCPROFV3 … SUMMARY:` above a table drawn with bars, or the table alone.

use std::collections::HashSet;

use super::ProfileFormat;
use super::statistics::kind_from_name;
use crate::model::{ProcessId, Profile, ProfilerStatistic, StatisticKind};
use crate::read::table::shown;
use crate::read::text_table::cells;
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 summary (text)",
    recognises: |file| {
        let has_columns = file.contains_all(&["| ", " NAME ", " DOMAIN ", " CALLS ", " DURATION "]);
        has_columns || file.contains_all(&["ROCPROFV3 ", "SUMMARY:"])
    },
    read,
};

/// NAME DOMAIN CALLS DURATION AVERAGE PERCENT MIN MAX STDDEV.
const COLUMNS: usize = 9;

/// Reads the tables of single domains. Without them it reads the overall table, or else the tables without a caption.
fn read(reading: &mut FileImport<'_>) -> RowCount {
    const DOMAINS: usize = 0;
    const OVERALL: usize = 1;
    const WITHOUT_CAPTION: usize = 2;
    let process = reading.process();
    let mut tables = [const { Vec::new() }; 3];
    let mut table = None;
    for line in reading.lines()? {
        let (number, line) = line?;
        if let Some(title) = line.trim().strip_prefix("ROCPROFV3 ") {
            table = Some(match title.starts_with("SUMMARY") {
                true => OVERALL,
                false => DOMAINS,
            });
            continue;
        }
        let Some(cells) = cells(&line) else {
            continue;
        };
        if cells.first() == Some(&"NAME") {
            table.get_or_insert(WITHOUT_CAPTION);
            continue;
        }
        let Some(table) = table else {
            continue;
        };
        match statistic(&cells, process, reading.profile) {
            Ok(statistic) => tables[table].push(statistic),
            Err(problem) => reading.damaged_line(number, None, problem)?,
        }
    }
    let first = tables.into_iter().find(|rows| !rows.is_empty());
    let mut rows = first.unwrap_or_default();
    // Without captions, tables of single domains repeat rows of the overall one.
    let mut seen = HashSet::new();
    rows.retain(|row| seen.insert((row.kind, row.name)));
    let count = rows.len() as u64;
    reading.profile.statistics.extend(rows);
    Ok(count)
}

/// Names may contain bars, so the figures are taken from the right.
fn statistic(
    cells: &[&str],
    process: ProcessId,
    profile: &mut Profile,
) -> Result<ProfilerStatistic, String> {
    let count = cells.len();
    let Some(split @ 1..) = count.checked_sub(COLUMNS - 1) else {
        return Err(format!(
            "the row has {count} columns, not {COLUMNS}; the output was probably cut off"
        ));
    };
    let name = cells[..split].join("|");
    let figures = &cells[split..];
    let number = |at: usize| {
        let text = figures.get(at).copied().unwrap_or_default();
        let number = text.parse::<f64>().ok();
        let number = number.filter(|number| *number >= 0.0 || number.is_nan());
        number.ok_or_else(|| format!("`{}` is not a figure", shown(text)))
    };
    let finite = |at| number(at).map(|number| Some(number).filter(|number| number.is_finite()));
    Ok(ProfilerStatistic {
        kind: match figures[0] {
            "KERNEL_DISPATCH" => StatisticKind::Kernel,
            "MEMORY_COPY" => StatisticKind::MemoryCopy,
            "MEMORY_ALLOCATION" | "SCRATCH_MEMORY" => StatisticKind::MemoryAllocation,
            domain if domain.ends_with("_API") => StatisticKind::Api,
            _ => kind_from_name(&name),
        },
        process,
        name: profile.name_id(&name),
        calls: number(1)? as u64,
        total_ns: finite(2)?.ok_or("the duration is not a number")?,
        min_ns: finite(5)?,
        max_ns: finite(6)?,
    })
}
