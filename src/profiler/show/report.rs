//! Everything a profile can answer, as tables.

use super::hotspots::{GroupBy, hotspots};
use super::parts::Parts;
use super::{copies, counters, launches, occupancy, roofline, timeline};
use crate::base::table::{Align, TextTable};
use crate::base::units::time;
use crate::profiler::model::{Profile, StatisticKind};
use crate::profiler::name;

/// How much to show.
#[derive(Clone, Copy, Debug)]
pub struct ReportOptions {
    pub group: GroupBy,
    /// Lines of each table.
    pub rows: usize,
}

/// The tables this profile has something to say in.
pub fn report(profile: &Profile, parts: &Parts, options: ReportOptions) -> Vec<TextTable> {
    let rows = options.rows;
    let mut tables = vec![hotspots(profile, options.group, parts).table(rows)];
    tables.push(timeline::table(profile, rows.min(3)));
    let timed = profile
        .dispatches
        .iter()
        .any(|dispatch| dispatch.time.is_some());
    if timed || !profile.calls.is_empty() {
        tables.push(launches::launch_overhead(profile).table());
    }
    tables.push(calls(profile, rows));
    tables.push(copies::table(profile));
    tables.extend(counters::tables(profile, rows.min(5)));
    tables.push(occupancy::table(profile, rows));
    tables.push(roofline::table(profile));
    tables.push(regions(profile, rows));
    tables.push(metrics(profile, rows));
    tables.push(instructions(profile, rows));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// API calls by time, from single calls or from the profiler's summary.
pub fn calls(profile: &Profile, limit: usize) -> TextTable {
    let mut sums: std::collections::BTreeMap<&str, (u64, f64)> = Default::default();
    for call in &profile.calls {
        let entry = sums.entry(profile.name(call.function)).or_default();
        entry.0 += 1;
        entry.1 += call.time.duration() as f64;
    }
    if profile.calls.is_empty() {
        for statistic in &profile.statistics {
            if statistic.kind == StatisticKind::Api {
                let entry = sums.entry(profile.name(statistic.name)).or_default();
                entry.0 += statistic.calls;
                entry.1 += statistic.total_ns;
            }
        }
    }
    let mut table = TextTable::new(
        "Calls of the host",
        &[
            ("function", Align::Left),
            ("calls", Align::Right),
            ("total", Align::Right),
            ("mean", Align::Right),
        ],
    );
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
    for (function, (count, total)) in sums.into_iter().take(limit) {
        table.rows.push(vec![
            function.to_owned(),
            count.to_string(),
            time(total),
            time(total / count.max(1) as f64),
        ]);
    }
    table
}

pub fn regions(profile: &Profile, limit: usize) -> TextTable {
    let mut table = TextTable::new(
        "Call tree of rocprof-sys, longest first",
        &[
            ("region", Align::Left),
            ("thread", Align::Right),
            ("calls", Align::Right),
            ("total", Align::Right),
            ("self", Align::Right),
        ],
    );
    let mut regions: Vec<_> = profile.regions.iter().collect();
    regions.sort_by(|a, b| b.total_s.total_cmp(&a.total_s));
    for region in regions.into_iter().take(limit) {
        table.rows.push(vec![
            region.label.clone(),
            region
                .thread
                .map_or("-".to_owned(), |thread| thread.to_string()),
            region.calls.to_string(),
            time(region.total_s * 1e9),
            crate::base::units::or_not_reported(
                region.self_percent.map(crate::base::units::percent),
            ),
        ]);
    }
    table
}

pub fn metrics(profile: &Profile, limit: usize) -> TextTable {
    let mut table = TextTable::new(
        "Metrics of rocprof-compute, nearest to their peak first",
        &[
            ("metric", Align::Left),
            ("value", Align::Right),
            ("unit", Align::Left),
            ("of peak", Align::Right),
        ],
    );
    let mut metrics: Vec<_> = profile
        .metrics
        .iter()
        .filter(|metric| metric.value.is_some())
        .collect();
    metrics.sort_by(|a, b| {
        let share =
            |metric: &crate::profiler::model::Metric| metric.percent_of_peak.unwrap_or(-1.0);
        share(b).total_cmp(&share(a))
    });
    for metric in metrics.into_iter().take(limit) {
        table.rows.push(vec![
            format!("{}: {}", metric.table, metric.name),
            crate::base::units::or_not_reported(metric.value.map(crate::base::units::figure)),
            metric.unit.clone(),
            crate::base::units::or_not_reported(
                metric.percent_of_peak.map(crate::base::units::percent),
            ),
        ]);
    }
    table
}

pub fn instructions(profile: &Profile, limit: usize) -> TextTable {
    let total: u64 = profile
        .instructions
        .iter()
        .map(|sample| sample.samples)
        .sum();
    let mut table = TextTable::new(
        format!("Instructions the program counter was seen at ({total} samples)"),
        &[
            ("instruction", Align::Left),
            ("samples", Align::Right),
            ("share", Align::Right),
        ],
    );
    let mut samples: Vec<_> = profile.instructions.iter().collect();
    samples.sort_by_key(|sample| std::cmp::Reverse(sample.samples));
    for sample in samples.into_iter().take(limit) {
        table.rows.push(vec![
            name::strip_suffix(profile.name(sample.instruction)).to_owned(),
            sample.samples.to_string(),
            crate::base::units::percent(100.0 * sample.samples as f64 / total.max(1) as f64),
        ]);
    }
    table
}
