//! Reads CSV of summaries that a profiler computed: `kernel_stats`, `hip_api_stats`, `domain_stats`, the first rocprof's
//! `results.stats.csv`, the tables of `rocpd summary` and those of hipprof.

use std::path::Path;

use super::ProfileFormat;
use crate::model::{Profile, StatisticKind};
use crate::name::is_api;
use crate::read::damage::Damage;
use crate::read::fields::{Field, FieldSource};
use crate::read::file_name::unpacked;
use crate::read::{FileImport, RowCount, table};
use tinyllama_base::units::{Percentage, percent, time};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "summary statistics (CSV)",
    recognises: |file| file.has(&["name", "calls"]) && file.has_one_of(TOTALS),
    read,
};

/// Names of the column with the sums, of rocprofv3 and of `rocpd summary`.
const TOTALS: &[&str] = &["totaldurationns", "duration_(nsec)"];

/// A row that says what all others add up to, with its index in the profile if it could also be a kernel.
struct ClosingRow {
    name: String,
    calls: Option<u64>,
    total_ns: f64,
    share: f64,
    at: Option<usize>,
}

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let kind = kind_from_file_name(reading.path);
    let process = reading.process();
    let before = reading.profile.statistics.len();
    let mut closing: Vec<ClosingRow> = Vec::new();
    let mut shares = 0.0;
    let rows = reading.rows(|records, row| {
        let share = share(row)?;
        let mut add = || {
            records.statistic(row, process, |name| (kind_of(name, kind), name))?;
            Ok(records.profile.statistics.len() - 1)
        };
        let name = row.text(Field::Name)?.unwrap_or_default();
        if !is_closing(name) {
            shares += share;
            return add().map(drop);
        }
        let at = add();
        closing.push(ClosingRow {
            name: name.to_owned(),
            calls: row.unsigned(Field::Calls)?,
            total_ns: row.amount(Field::Total)?,
            share,
            at: at.ok(),
        });
        Ok(())
    })?;
    let file = reading.path.file_name().unwrap_or_default();
    let file = file.to_string_lossy().into_owned();
    let count = closing.len() as u64;
    let kept = settle(closing, before, reading.profile, &file);
    if shares > 0.0 && shares < WHOLE {
        reading.profile.notes.push(format!(
            "{file} was cut: its rows cover {} of the time, and the shares below are shares of these rows",
            percent(Percentage(shares))
        ));
    }
    Ok(rows - count + kept)
}

/// Returns whether a row may be the sum of the others. Some kernels have such a name.
fn is_closing(name: &str) -> bool {
    let name = name.trim_end_matches(':').to_lowercase();
    ["total", "totals", "sum", "grand total"].contains(&name.as_str())
}

/// Sums that agree to this share are equal; tools round.
const ROUNDING: f64 = 1e-3;

/// Takes out the rows that are sums of the others, and says so. Returns how many rows are kernels after all.
fn settle(closing: Vec<ClosingRow>, before: usize, profile: &mut Profile, file: &str) -> u64 {
    let mut kept = 0;
    for row in closing.into_iter().rev() {
        let own = row.at;
        let others = profile.statistics.iter().enumerate().skip(before);
        let others = others.filter(|(at, _)| Some(*at) != own).map(|(_, it)| it);
        let (mut calls, mut total_ns, mut count) = (0u64, 0.0, 0);
        for other in others {
            calls = calls.saturating_add(other.calls);
            total_ns += other.total_ns;
            count += 1;
        }
        let is_sum = row.calls.is_none_or(|own| own == calls)
            && (row.total_ns - total_ns).abs() <= ROUNDING * row.total_ns;
        let is_all = row.share >= WHOLE;
        if count == 0 || !(is_sum || is_all) {
            kept += u64::from(own.is_some());
            continue;
        }
        if let Some(at) = own {
            profile.statistics.remove(at);
        }
        let (name, sum) = (&row.name, time(row.total_ns));
        profile.notes.push(match is_sum {
            true => format!("the row `{name}` of {file} is the sum of the {count} rows above it ({sum}), and no kernel"),
            false => format!(
                "the row `{name}` of {file} says {sum}, and the {count} rows above it add up to {}: rows were left out",
                time(total_ns)
            ),
        });
    }
    kept
}

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
        _ if has(&["domain_stats", "domain_summary"]) => Some(StatisticKind::Domain),
        _ if has(&["kernel_stats", "kernels_summary", "hipkernel"]) => Some(StatisticKind::Kernel),
        _ if has(&["copy_stats", "memory_copies_summary"]) => Some(StatisticKind::MemoryCopy),
        _ if has(&["allocations_summary", "scratch_memory_summary"]) => {
            Some(StatisticKind::MemoryAllocation)
        }
        _ if has(&[
            "_api_stats",
            "hip_stats",
            "hsa_stats",
            "hip_summary",
            "hsa_summary",
        ]) =>
        {
            Some(StatisticKind::Api)
        }
        _ => None,
    }
}

/// The subject of a row: what its name says, or else what the name of its file says.
fn kind_of(name: &str, file: Option<StatisticKind>) -> StatisticKind {
    match (file, kind_from_name(name)) {
        (Some(StatisticKind::Domain), _) => StatisticKind::Domain,
        (Some(kind), StatisticKind::Kernel) => kind,
        (_, kind) => kind,
    }
}

/// Finds the subject of a row by its name. Calls and domains have names that no kernel has.
pub fn kind_from_name(name: &str) -> StatisticKind {
    const DOMAINS: &str = "KERNEL_DISPATCH MEMORY_COPY MEMORY_ALLOCATION SCRATCH_MEMORY";
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let is_domain = DOMAINS.split(' ').any(|domain| domain == name)
        || name.contains("_API") && name.bytes().all(|byte| !byte.is_ascii_lowercase());
    match name {
        _ if is_domain => StatisticKind::Domain,
        _ if begins(&["MEMORY_COPY_", "CopyHostTo", "CopyDeviceTo"]) => StatisticKind::MemoryCopy,
        _ if begins(&["MEMORY_ALLOCATION_", "SCRATCH_MEMORY_"]) => StatisticKind::MemoryAllocation,
        _ if is_api(name) => StatisticKind::Api,
        _ => StatisticKind::Kernel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::import;
    use crate::show::hotspots::{GroupBy, hotspots};
    use crate::show::parts::KernelParts;
    use crate::show::report::api_calls;

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
            ("hiprtcCompileProgram", StatisticKind::Api),
            ("__hipPushCallConfiguration", StatisticKind::Api),
            ("rocDecCreateDecoder", StatisticKind::Api),
            ("roctxRangePushA", StatisticKind::Api),
            ("cuApplyLayerNorm", StatisticKind::Kernel),
            ("hipMyKernel(float*)", StatisticKind::Kernel),
            ("HIP_RUNTIME_API_EXT", StatisticKind::Domain),
            ("CopyHostToDevice", StatisticKind::MemoryCopy),
            ("MEMORY_COPY_HOST_TO_DEVICE", StatisticKind::MemoryCopy),
        ] {
            assert_eq!(kind_from_name(name), kind, "{name}");
        }
    }

    fn read(name: &str, text: &str) -> Profile {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let import = import(&path).unwrap();
        assert_eq!(import.damage, [], "{text}");
        import.profile
    }

    fn kernels(profile: &Profile) -> Vec<(String, u64, f64, String)> {
        let found = hotspots(profile, GroupBy::ShortName, &KernelParts::default());
        let kernels = found.kernels.into_iter();
        kernels
            .map(|it| (it.name, it.calls, it.total_ns, percent(it.percent)))
            .collect()
    }

    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/fixtures/hipprof")
            .join(name)
    }

    /// The kernel `sum` is none of the table's sums.
    #[test]
    fn a_row_that_adds_up_the_others_is_no_kernel() {
        let import = import(&fixture("result_77.hipkernel.csv")).unwrap();
        assert_eq!(import.taken[0].rows, 3);
        let profile = import.profile;
        let expected = [
            ("transpose_tile32x32_diag", 12, 1_800_000.0, "60.0 %"),
            ("fft_back", 6, 900_000.0, "30.0 %"),
            ("sum", 3, 300_000.0, "10.0 %"),
        ];
        let expected =
            expected.map(|(name, calls, ns, share)| (name.into(), calls, ns, share.into()));
        assert_eq!(kernels(&profile), expected);
        assert!(
            profile.notes[0].contains("`Total`") && profile.notes[0].contains("sum of the 3 rows"),
            "{:?}",
            profile.notes
        );
    }

    #[test]
    fn functions_of_an_api_are_calls_whatever_the_file_is_called() {
        let text = std::fs::read_to_string(fixture("result_77.hiptrace.csv")).unwrap();
        for name in ["result_77.hiptrace.csv", "kernel_stats.csv"] {
            let profile = read(name, &text);
            assert_eq!(kernels(&profile), [], "{name}");
            let calls = api_calls(&profile);
            let total: f64 = calls.iter().map(|(_, (_, ns))| ns).sum();
            assert_eq!((calls.len(), total), (3, 4_000_000.0), "{name}");
        }
    }

    #[test]
    fn sums_may_lack_their_calls_and_may_be_of_rows_that_were_left_out() {
        let head = "Name,Calls,TotalDurationNs,AverageNs,Percentage\na,2,400,200,40\n";
        let profile = read("a.csv", &format!("{head}b,1,600,600,60\nSum,,1000,,100\n"));
        assert_eq!(kernels(&profile).len(), 2);
        let profile = read("a.csv", &format!("{head}Total,9,1000,111,100\n"));
        assert_eq!(
            kernels(&profile),
            [("a".into(), 2, 400.0, "100.0 %".into())]
        );
        assert!(
            profile.notes.iter().any(|note| note.contains("left out")),
            "{:?}",
            profile.notes
        );
        let profile = read("a.csv", &format!("{head}sum,9,600,66,60\n"));
        assert_eq!(kernels(&profile)[0].0, "sum");
    }
}
