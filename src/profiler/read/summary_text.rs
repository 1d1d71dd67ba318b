//! What `rocprofv3 --summary` prints: `ROCPROFV3 … SUMMARY:` above a table drawn with bars.

use std::io::Read;
use std::path::Path;

use super::bounded::lines;
use super::damage::{Damage, DamageLog, Place};
use super::statistics::kind_from_name;
use super::table::shown;
use super::text_table::cells;
use crate::profiler::model::{Profile, Statistic, StatisticKind};

/// NAME DOMAIN CALLS DURATION AVERAGE PERCENT MIN MAX STDDEV.
const COLUMNS: usize = 9;

/// Reads the tables of single domains into `profile`, or the overall one where it is all there is; the number of rows.
pub fn read(
    path: &Path,
    input: impl Read,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let mut overall = Vec::new();
    let mut domains = Vec::new();
    let mut table = None;
    for line in lines(path, input) {
        let (number, line) = line?;
        if let Some(title) = line.trim().strip_prefix("ROCPROFV3 ") {
            table = Some(if title.starts_with("SUMMARY") {
                &mut overall
            } else {
                &mut domains
            });
            continue;
        }
        let (Some(table), Some(cells)) = (&mut table, cells(&line)) else {
            continue;
        };
        if cells.first() == Some(&"NAME") {
            continue;
        }
        match statistic(&cells, profile) {
            Ok(statistic) => table.push(statistic),
            Err(problem) => log.add(Damage::new(Place::line(path, number), problem))?,
        }
    }
    let rows = if domains.is_empty() { overall } else { domains };
    let count = rows.len() as u64;
    profile.statistics.extend(rows);
    Ok(count)
}

/// Names may contain bars: the figures are taken from the right.
fn statistic(cells: &[&str], profile: &mut Profile) -> Result<Statistic, String> {
    let Some(split) = cells
        .len()
        .checked_sub(COLUMNS - 1)
        .filter(|split| *split > 0)
    else {
        return Err(format!(
            "the row has {} columns, not {COLUMNS}; the output was probably cut off",
            cells.len()
        ));
    };
    let name = cells[..split].join("|");
    let figures = &cells[split..];
    let number = |at: usize| {
        let text = figures.get(at).copied().unwrap_or_default();
        text.parse::<f64>()
            .ok()
            .filter(|number| *number >= 0.0 || number.is_nan())
            .ok_or_else(|| format!("`{}` is no figure", shown(text)))
    };
    let finite = |at| number(at).map(|number| Some(number).filter(|number| number.is_finite()));
    Ok(Statistic {
        kind: match figures[0] {
            "KERNEL_DISPATCH" => StatisticKind::Kernel,
            "MEMORY_COPY" => StatisticKind::MemoryCopy,
            "MEMORY_ALLOCATION" | "SCRATCH_MEMORY" => StatisticKind::Allocation,
            domain if domain.ends_with("_API") => StatisticKind::Api,
            _ => kind_from_name(&name),
        },
        name: profile.name_id(&name),
        calls: number(1)? as u64,
        total_ns: finite(2)?.ok_or("the duration is no number")?,
        min_ns: finite(5)?,
        max_ns: finite(6)?,
        standard_deviation_ns: finite(7)?,
    })
}
