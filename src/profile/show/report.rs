//! Builds all tables that a profile has data for.

use std::collections::BTreeMap;

use super::hotspots::{GroupBy, hotspots};
use super::launch_calls::LaunchCounts;
use super::launches::is_marker;
use super::memory_chart::MemoryChart;
use super::parts::KernelParts;
use super::{
    copies, counters, idle, launches, memory_chart, occupancy, roofline, samples, timeline,
};
use crate::model::{
    CallRegion, NameId, Profile, ProfilerMetric, ProfilerStatistic, StatisticKind, TimeSpan,
};
use crate::name;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{figure, or_not_reported, percent, time};

/// How much to show.
#[derive(Clone, Copy, Debug)]
pub struct ReportOptions {
    pub group: GroupBy,
    /// Number of lines in each table.
    pub rows: usize,
}

/// Returns the tables that this profile has data for.
pub fn report(profile: &Profile, parts: &KernelParts, options: ReportOptions) -> Vec<TextTable> {
    let rows = options.rows;
    let mut tables = vec![
        hotspots(profile, options.group, parts).table(rows),
        untimed(profile, rows),
        timeline::table(profile),
    ];
    tables.extend(idle::tables(profile));
    if launches::is_reported(profile) {
        tables.push(launches::launch_overhead(profile).table());
    }
    tables.extend([
        calls(profile, rows),
        markers(profile, rows),
        copies::table(profile),
        allocations(profile, rows),
        domains(profile, rows),
    ]);
    tables.extend(counters::tables(profile, rows.min(5)));
    let charts = memory_chart::charts(profile, rows.min(5));
    tables.extend(charts.iter().map(MemoryChart::table));
    tables.extend([
        occupancy::table(profile, rows),
        roofline::table(profile),
        regions(profile, rows),
        metrics(profile, rows),
        machine(profile, rows),
    ]);
    tables.extend(samples::tables(profile, rows));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Lists launches without any known time: kernels with the numbers of their launches. `profile analyze --dispatch` takes
/// such a number.
pub fn untimed(profile: &Profile, limit: usize) -> TextTable {
    let is_told = profile.is_timed() || profile.summary(StatisticKind::Kernel).next().is_some();
    let mut kernels: BTreeMap<&str, Vec<Option<u64>>> = BTreeMap::new();
    for launch in profile.dispatches.iter().filter(|_| !is_told) {
        let kernel = name::short(profile.kernel_name(launch.variant));
        kernels.entry(kernel).or_default().push(launch.id);
    }
    let mut kernels: Vec<_> = kernels.into_iter().collect();
    kernels.sort_by_key(|(_, launches)| std::cmp::Reverse(launches.len()));
    let numbers = |launches: &[Option<u64>]| {
        let first = launches.iter().flatten().take(NUMBERS_SHOWN);
        let more = if launches.len() > NUMBERS_SHOWN {
            ", ..."
        } else {
            ""
        };
        itertools::join(first, ", ") + more
    };
    let columns = TableColumns::titled("Launches without times", &kernels)
        .left("kernel", |(kernel, _)| (*kernel).to_owned())
        .right("launches", |(_, launches)| launches.len().to_string())
        .left("numbers", move |(_, launches)| numbers(launches));
    with_rest(columns, limit)
}

/// How many launch numbers are shown for a kernel.
const NUMBERS_SHOWN: usize = 5;

/// Name, calls and nanoseconds of an action of the host.
pub type CallTotals<'a> = (&'a str, (u64, f64));

/// Adds up single actions and rows of the profilers' sums by name. The longest total comes first.
pub(super) fn totals<'a>(
    profile: &'a Profile,
    single: impl IntoIterator<Item = (NameId, TimeSpan)>,
    summarised: impl IntoIterator<Item = &'a ProfilerStatistic>,
) -> Vec<CallTotals<'a>> {
    let mut sums: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    let single = single.into_iter();
    let single = single.map(|(name, time)| (name, 1, time.duration() as f64));
    let summarised = summarised.into_iter();
    let summarised = summarised.map(|row| (row.name, row.calls, row.total_ns));
    for (name, calls, ns) in single.chain(summarised) {
        let entry = sums.entry(profile.name(name)).or_default();
        entry.0 = entry.0.saturating_add(calls);
        entry.1 += ns;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
    sums
}

/// API calls by time, from single calls or from the profiler's summary.
pub fn api_calls(profile: &Profile) -> Vec<CallTotals<'_>> {
    let calls = || profile.calls.iter();
    let others = profile.summarised_besides(StatisticKind::Api, calls().map(|call| call.lane));
    let calls = calls().filter(|call| !is_marker(profile, call));
    totals(
        profile,
        calls.map(|call| (call.function, call.time)),
        others,
    )
}

/// Ranges that the program marked, by time.
pub fn marked(profile: &Profile) -> Vec<CallTotals<'_>> {
    let marked = profile.calls.iter().filter(|call| is_marker(profile, call));
    totals(profile, marked.map(|call| (call.function, call.time)), [])
}

pub fn calls(profile: &Profile, limit: usize) -> TextTable {
    let mut table = called("Calls of the host", "function", &api_calls(profile), limit);
    // Otherwise the table of launches says it.
    if !launches::is_reported(profile) {
        table
            .notes
            .extend(LaunchCounts::new(profile).map(|counts| counts.line()));
    }
    table
}

pub fn markers(profile: &Profile, limit: usize) -> TextTable {
    let title = "Ranges that the program marked";
    called(title, "range", &marked(profile), limit)
}

/// Allocations and releases of memory, from single ones or from the profiler's summary.
pub fn allocations(profile: &Profile, limit: usize) -> TextTable {
    let all = &profile.allocations;
    let summarised = profile.summary(StatisticKind::MemoryAllocation);
    let summarised = summarised.filter(|_| all.is_empty());
    let single = all.iter().map(|one| (one.operation, one.time));
    let sums = totals(profile, single, summarised);
    called("Allocations", "operation", &sums, limit)
}

/// The profiler's sums by domain.
pub fn domains(profile: &Profile, limit: usize) -> TextTable {
    let sums = totals(profile, [], profile.summary(StatisticKind::Domain));
    called("The profiler's sums by domain", "domain", &sums, limit)
}

fn called(title: &str, what: &'static str, calls: &[CallTotals], limit: usize) -> TextTable {
    let columns = TableColumns::titled(title, calls)
        .left(what, |(name, _)| (*name).to_owned())
        .right("calls", |(_, (count, _))| count.to_string())
        .right("total", |(_, (_, total))| time(*total))
        .right("mean", |(_, (count, total))| {
            time(total / (*count).max(1) as f64)
        });
    with_rest(columns, limit)
}

/// Known facts about the profiled machine.
pub fn machine(profile: &Profile, limit: usize) -> TextTable {
    let facts: Vec<_> = profile.system.iter().collect();
    let columns = TableColumns::titled("The machine, as rocprof-compute found it", &facts)
        .left("", |(name, _)| (*name).clone())
        .left("", |(_, value)| (*value).clone());
    with_rest(columns, limit)
}

/// Builds a table with a note about the number of rows that it leaves out.
pub(super) fn with_rest<T>(columns: TableColumns<'_, T>, limit: usize) -> TextTable {
    let all = columns.things.len();
    let mut table = TextTable::from(columns.first(limit));
    if all > limit {
        table.note(format!("{} more; --rows N shows them", all - limit));
    }
    table
}

/// Levels of a call tree that are indented; deeper calls stand below these.
const MOST_INDENTED: u32 = 12;

/// The longest calls, in the order of the file: a call stands below its caller, two columns further right.
pub fn regions(profile: &Profile, limit: usize) -> TextTable {
    let mut in_file: Vec<_> = profile.regions.iter().enumerate().collect();
    in_file.sort_by(|(_, a), (_, b)| b.total_s.total_cmp(&a.total_s));
    let longest = limit.min(in_file.len());
    in_file[..longest].sort_by_key(|(place, _)| *place);
    let regions: Vec<&CallRegion> = in_file.into_iter().map(|(_, region)| region).collect();
    let columns = TableColumns::titled("Call tree of rocprof-sys, its longest calls", &regions)
        .left("region", |region| {
            format!(
                "{}{}",
                "  ".repeat(region.depth.min(MOST_INDENTED) as usize),
                region.label
            )
        })
        .right("thread", |region| {
            let thread = region.thread;
            thread.map_or("-".to_owned(), |thread| thread.to_string())
        })
        .right("calls", |region| region.calls.to_string())
        .right("total", |region| time(region.total_s * 1e9))
        .right("self", |region| {
            or_not_reported(region.self_percent.map(percent))
        });
    with_rest(columns, limit)
}

pub fn metrics(profile: &Profile, limit: usize) -> TextTable {
    let mut metrics: Vec<&ProfilerMetric> = profile
        .metrics
        .iter()
        .filter(|metric| metric.value.is_some())
        .collect();
    let share = |metric: &ProfilerMetric| metric.percent_of_peak.map_or(-1.0, |of_peak| of_peak.0);
    metrics.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let title = "Metrics of rocprof-compute, nearest to their peak first";
    let several = metrics.iter().any(|metric| metric.run != metrics[0].run);
    let mut columns = TableColumns::titled(title, &metrics)
        .left("metric", |metric| {
            format!("{}: {}", metric.table, metric.name)
        })
        .left("kernel", |metric| {
            metric
                .kernel
                .as_deref()
                .map(|kernel| name::short(kernel).to_owned())
        });
    if several {
        columns = columns.left("run", |metric| metric.run.clone());
    }
    let columns = columns
        .right("value", |metric| or_not_reported(metric.value.map(figure)))
        .left("unit", |metric| metric.unit.clone())
        .right("peak", |metric| metric.peak.map(figure))
        .right("of peak", |metric| {
            or_not_reported(metric.percent_of_peak.map(percent))
        });
    with_rest(columns, limit)
}
