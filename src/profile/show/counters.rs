//! Hardware counters by kernel, and metrics derived from them.

use std::collections::{BTreeMap, HashSet};

use super::derived::{DERIVED, Derived, GoodRange, counter_unit};
use super::report::totals;
use crate::model::{Profile, ReplayPass, StatisticKind};
use crate::name;
use tinyllama_base::table::{TableColumns, TextTable, shortened};
use tinyllama_base::units::{Percentage, figure, percent};

/// A counter over the launches of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterSummary {
    pub launches: u64,
    pub mean: f64,
}

/// Counters of all launches of one kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelCounters {
    /// Full name.
    pub kernel: String,
    /// Launches with at least one counter.
    pub launches: u64,
    pub counters: BTreeMap<String, CounterSummary>,
    /// Mean time of a launch, from launches without counters if the profile has them.
    pub mean_ns: Option<f64>,
}

impl KernelCounters {
    /// Mean of a counter per launch.
    pub fn mean(&self, counter: &str) -> Option<f64> {
        self.counters.get(counter).map(|summary| summary.mean)
    }

    /// Value of a derived metric. A share is at most 100 %.
    pub fn derived(&self, metric: &Derived) -> Option<f64> {
        let most = if metric.is_share() { 100.0 } else { f64::MAX };
        Some(self.computed(metric)?.min(most))
    }

    /// Result of its formula.
    fn computed(&self, metric: &Derived) -> Option<f64> {
        (metric.value)(&|counter| self.mean(counter)).filter(|value| value.is_finite())
    }
}

/// Returns the kernels with counters. The kernel with the most time comes first.
pub fn counters(profile: &Profile) -> Vec<KernelCounters> {
    let mut kernels: BTreeMap<&str, KernelCounters> = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut launches: BTreeMap<(&str, Option<&ReplayPass>), u64> = BTreeMap::new();
    for sample in &profile.counters {
        let kernel = profile.kernel_name(sample.variant);
        let entry = kernels.entry(kernel).or_insert_with(|| KernelCounters {
            kernel: kernel.to_owned(),
            ..KernelCounters::default()
        });
        let launch = profile.launch_of(sample);
        if seen.insert((kernel, launch)) {
            let pass = profile.process(launch.0).pass.as_ref();
            *launches.entry((kernel, pass)).or_default() += 1;
        }
        let counter = profile.name(sample.counter);
        match entry.counters.get_mut(counter) {
            Some(summary) => summary.add(sample.value),
            None => {
                let first = CounterSummary::new(sample.value);
                entry.counters.insert(counter.to_owned(), first);
            }
        }
    }
    let times = times(profile);
    let mut kernels: Vec<KernelCounters> = kernels.into_values().collect();
    for kernel in &mut kernels {
        let times = times.get(kernel.kernel.as_str());
        kernel.mean_ns = times.map(|(count, sum)| sum / *count as f64);
        let of_kernel = launches
            .iter()
            .filter(|((name, _), _)| *name == kernel.kernel);
        kernel.launches = launched(of_kernel.map(|((_, pass), count)| (*pass, *count)));
    }
    let total = |kernel: &KernelCounters| kernel.mean_ns.unwrap_or(0.0) * kernel.launches as f64;
    kernels.sort_by(|a, b| total(b).total_cmp(&total(a)));
    kernels
}

/// Counts a kernel's launches from those of each replay. Every replay of a program makes all of them.
fn launched<'a>(passes: impl Iterator<Item = (Option<&'a ReplayPass>, u64)>) -> u64 {
    let mut workloads: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    for (pass, count) in passes {
        let workload = workloads.entry(pass.map(|pass| pass.workload.as_str()));
        let most = workload.or_default();
        *most = count.max(*most);
    }
    workloads.into_values().sum()
}

impl CounterSummary {
    fn new(value: f64) -> Self {
        CounterSummary {
            launches: 1,
            mean: value,
        }
    }

    fn add(&mut self, value: f64) {
        self.launches += 1;
        // A running mean, because a sum of large counters could lose its last digits.
        self.mean += (value - self.mean) / self.launches as f64;
    }
}

/// Number and sum of the launches' times, by kernel. From a summary if no launch has a time.
fn times(profile: &Profile) -> BTreeMap<&str, (u64, f64)> {
    let launches = profile.timed();
    let launches = launches.map(|(one, time)| (profile.variant(one.variant).kernel, time));
    let rows = profile.summary(StatisticKind::Kernel);
    let rows = rows.filter(|row| row.calls > 0 && !profile.is_timed());
    totals(profile, launches, rows).into_iter().collect()
}

/// Builds a table for each of the first `limit` kernels: derived metrics first, then the counters.
pub fn tables(profile: &Profile, limit: usize) -> Vec<TextTable> {
    let kernels = counters(profile);
    let names: Vec<&str> = kernels.iter().map(|it| it.kernel.as_str()).collect();
    let named = kernels.iter().zip(name::distinct_names(&names)).take(limit);
    let mut tables: Vec<TextTable> = named.map(|(kernel, name)| table(kernel, name)).collect();
    if let (Some(last), true) = (tables.last_mut(), kernels.len() > limit) {
        let more = kernels.len() - limit;
        last.note(format!("{more} more kernels have counters"));
    }
    tables
}

/// Number of counters that are shown for a kernel. rocprof-compute collects thousands, most of them per channel.
const COUNTERS_SHOWN: usize = 24;

/// Characters of a kernel's name in the title of its table.
const NAME_SHOWN: usize = 48;

fn table(kernel: &KernelCounters, name: &str) -> TextTable {
    let derived: Vec<_> = DERIVED
        .iter()
        .filter_map(|metric| Some((metric, kernel.derived(metric)?)))
        .collect();
    let shown = shortened(name, NAME_SHOWN);
    let title = format!("Counters of {shown} ({} launches)", kernel.launches);
    let columns = TableColumns::titled(title, &derived)
        .left("metric", |(metric, _)| metric.name.to_owned())
        .right("mean a launch", |(metric, value)| {
            with_unit(*value, metric.unit)
        })
        .left("good", |(metric, value)| verdict(metric.good, *value));
    let mut table = TextTable::from(columns);
    if shown != name {
        table.note(format!("the kernel is {name}"));
    }
    let bad = |(metric, value): &&(&Derived, f64)| metric.good.holds(*value) == Some(false);
    for (metric, _) in derived.iter().filter(bad) {
        table.note(format!("{}: {}", metric.name, metric.meaning));
    }
    for (metric, value) in &derived {
        let computed = kernel.computed(metric).filter(|computed| computed > value);
        if let Some(computed) = computed {
            let (name, computed) = (metric.name, percent(Percentage(computed)));
            table.note(format!(
                "{name}: its counters give {computed}, which happens if they were not collected in the same launches"
            ));
        }
    }
    let is_one_channel = |name: &str| name.ends_with(']');
    let plain = kernel.counters.iter();
    let plain = plain.filter(|(name, _)| !is_one_channel(name));
    let rows = plain.take(COUNTERS_SHOWN).map(|(name, summary)| {
        vec![
            name.clone(),
            with_unit(summary.mean, counter_unit(name)),
            "-".into(),
        ]
    });
    let before = table.rows.len();
    table.rows.extend(rows);
    let left_out = kernel.counters.len() - (table.rows.len() - before);
    if left_out > 0 {
        table.note(format!(
            "{left_out} more counters: export the profile to see them all"
        ));
    }
    table
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "%" => percent(Percentage(value)),
        unit => format!("{} {unit}", figure(value)).trim().to_owned(),
    }
}

fn verdict(good: GoodRange, value: f64) -> String {
    let (range, holds) = match (good, good.holds(value)) {
        (GoodRange::AtLeast(bound), Some(holds)) => (format!("from {bound} %"), holds),
        (GoodRange::AtMost(bound), Some(holds)) => (format!("up to {bound} %"), holds),
        _ => return "-".to_owned(),
    };
    format!("{} ({range})", if holds { "yes" } else { "no" })
}
