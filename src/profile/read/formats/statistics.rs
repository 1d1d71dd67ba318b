//! Reads CSV of summaries that the profiler computed: `kernel_stats`, `hip_api_stats`, `domain_stats`, rocprof's
//! `results.stats.csv`.

use std::path::Path;

use super::{FormatContent, ProfileFormat};
use crate::model::{Profile, StatisticKind};
use crate::read::damage::Damage;
use crate::read::fields::{Field, FieldSource};
use crate::read::selection::{names_process, unpacked};
use crate::read::table;
use crate::name::is_api;

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "summary statistics (CSV)",
    recognises: |file| file.has(&["name", "calls"]) && file.has_one_of(TOTALS),
    read,
    content: FormatContent::Part,
};

/// Returns the percentage of a row. Tables in documents write it with a percent sign.
fn share(row: &table::CsvRow<'_>) -> Result<f64, Damage> {
    let text = row.text(Field::Share)?.unwrap_or_default();
    match text
        .strip_suffix('%')
        .map(|number| number.trim().parse::<f64>())
    {
        Some(Ok(share)) if share.is_finite() => Ok(share),
        _ => Ok(row.number(Field::Share)?.unwrap_or_default()),
    }
}

/// Rounded percentages that add up to at least this count as a whole.
const WHOLE: f64 = 99.0;

fn kind_from_file_name(path: &Path) -> Option<StatisticKind> {
    let name = unpacked(path).file_name()?.to_str()?.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match name.as_str() {
        "results.stats.csv" => Some(StatisticKind::Kernel),
        _ if has(&["kernel_stats"]) => Some(StatisticKind::Kernel),
        _ if has(&["domain_stats"]) => Some(StatisticKind::Domain),
        _ if has(&["copy_stats"]) => Some(StatisticKind::MemoryCopy),
        _ if has(&["_api_stats", "hip_stats", "hsa_stats"]) => Some(StatisticKind::Api),
        _ => None,
    }
}

/// Finds the subject of a renamed file by a row's name. Calls and domains have names that no kernel has.
pub fn kind_from_name(name: &str) -> StatisticKind {
    const DOMAINS: &str = "HIP_API HSA_API KERNEL_DISPATCH MEMORY_COPY MARKER_API RCCL_API MEMORY_ALLOCATION SCRATCH_MEMORY";
    let is_hip_call = name
        .strip_prefix("hip")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    let is_nccl_call = name
        .strip_prefix("nccl")
        .is_some_and(|rest| !rest.starts_with("DevKernel"));
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    match name {
        _ if DOMAINS.split(' ').any(|domain| domain == name) => StatisticKind::Domain,
        _ if begins(&["MEMORY_COPY_"]) => StatisticKind::MemoryCopy,
        _ if begins(&["MEMORY_ALLOCATION_", "SCRATCH_MEMORY_"]) => StatisticKind::MemoryAllocation,
        _ if is_hip_call || is_nccl_call || begins(&["__hip", "hsa_"]) => StatisticKind::Api,
        _ => StatisticKind::Kernel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_known_by_its_name_where_the_file_does_not_say() {
        for (name, kind) in [
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                StatisticKind::Kernel,
            ),
            ("ncclAllReduce", StatisticKind::Api),
            ("hipLaunchKernel", StatisticKind::Api),
            ("hiprand_kernel", StatisticKind::Kernel),
            ("MEMORY_COPY_HOST_TO_DEVICE", StatisticKind::MemoryCopy),
        ] {
            assert_eq!(kind_from_name(name), kind, "{name}");
        }
    }
}
