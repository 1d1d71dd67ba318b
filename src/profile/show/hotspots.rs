//! Time on the device by kernel.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;

use super::launches::is_marker;
use super::parts::KernelParts;
use crate::model::{
    Dispatch, LaunchVariant, ProcessId, Profile, ProfilerStatistic, StatisticKind, TimeSpan,
    VariantId,
};
use crate::name;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Percentage, Share, figure, or_not_reported, percent, time};
use tinyllama_contract::ranges;

/// The rule that decides which launches count as one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupBy {
    // Puts the instances of a template together. `clap` shows only the line below as help.
    /// The bare function name.
    #[value(name = "name")]
    ShortName,
    /// The full name with template arguments.
    #[value(name = "full")]
    FullName,
    /// The full name with workgroup, grid and registers.
    Variant,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hotspot {
    pub name: String,
    /// Part of the model, if the run reported it.
    pub part: Option<String>,
    /// Launch shape, if kernels are grouped by it.
    pub variant: Option<LaunchVariant>,
    /// Name of the run. `None` if all files are of one run.
    pub run: Option<String>,
    pub calls: u64,
    /// Calls in each counted step. Set if the program marked its steps and the profiler recorded nothing else.
    pub calls_per_step: Option<f64>,
    pub total_ns: f64,
    pub min_ns: Option<f64>,
    pub max_ns: Option<f64>,
    /// Share of the time of all kernels of the run. Kernels that overlap count twice.
    pub percent: Percentage,
}

impl Hotspot {
    pub fn mean_ns(&self) -> f64 {
        self.total_ns / self.calls.max(1) as f64
    }

    fn add(&mut self, calls: u64, total: f64, min: Option<f64>, max: Option<f64>) {
        self.calls = self.calls.saturating_add(calls);
        self.total_ns += total;
        self.min_ns = [self.min_ns, min].into_iter().flatten().reduce(f64::min);
        self.max_ns = [self.max_ns, max].into_iter().flatten().reduce(f64::max);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hotspots {
    /// Longest total first.
    pub kernels: Vec<Hotspot>,
    pub total_ns: f64,
    /// Launches without a usable time. They are in no line.
    pub untimed: u64,
    /// True if the lines come from the profiler's summary, not from single launches.
    pub from_summary: bool,
    /// Processes that only have such a summary, while others have single launches.
    pub summarised: BTreeSet<String>,
    /// Name, launches and nanoseconds of each run. Empty if all files are of one run.
    pub runs: Vec<(String, u64, f64)>,
}

/// Sums kernels, the longest total first. Uses single launches if the profile has them, otherwise the profiler's summary.
pub fn hotspots(profile: &Profile, group: GroupBy, parts: &KernelParts) -> Hotspots {
    let mut found = sums(profile, group);
    found.total_ns = found.kernels.iter().map(|kernel| kernel.total_ns).sum();
    let steps =
        counted_steps(profile).filter(|_| !found.from_summary && found.summarised.is_empty());
    let mut totals: BTreeMap<Option<String>, (u64, f64)> = BTreeMap::new();
    for kernel in &found.kernels {
        let total = totals.entry(kernel.run.clone()).or_default();
        total.0 = total.0.saturating_add(kernel.calls);
        total.1 += kernel.total_ns;
    }
    for kernel in &mut found.kernels {
        kernel.calls_per_step = steps.map(|steps| kernel.calls as f64 / steps as f64);
        kernel.percent = Percentage(match totals.get(&kernel.run) {
            Some(&(_, total)) if total > 0.0 => 100.0 * kernel.total_ns / total,
            _ => 0.0,
        });
        kernel.part = parts.part_of(&kernel.name);
    }
    found.kernels.sort_by(|a, b| {
        b.total_ns
            .total_cmp(&a.total_ns)
            .then_with(|| (&a.name, &a.run).cmp(&(&b.name, &b.run)))
    });
    let named = totals.into_iter();
    found.runs = named
        .filter_map(|(run, (calls, total_ns))| Some((run?, calls, total_ns)))
        .collect();
    found
}

/// Number of steps that the program marked as counted. `None` if it marked none, or if kernels were recorded outside of
/// them.
fn counted_steps(profile: &Profile) -> Option<usize> {
    let marked = |name: &'static str| {
        let calls = profile.calls.iter();
        calls.filter(move |call| is_marker(profile, call) && profile.name(call.function) == name)
    };
    let regions: Vec<(ProcessId, TimeSpan)> = marked(ranges::COUNTED)
        .map(|call| (profile.lane(call.lane).process, call.time))
        .collect();
    let counted = |process: ProcessId, start: i64| {
        let mut regions = regions.iter();
        regions.any(|(own, time)| *own == process && (time.start..=time.end).contains(&start))
    };
    let outside = profile
        .timed()
        .any(|(launch, time)| !counted(profile.lane(launch.lane).process, time.start));
    let steps = marked(ranges::STEP)
        .filter(|step| counted(profile.lane(step.lane).process, step.time.start))
        .count();
    (steps > 0 && !outside).then_some(steps)
}

fn sums(profile: &Profile, group: GroupBy) -> Hotspots {
    let kind = StatisticKind::Kernel;
    let run_of = |launch: &Dispatch| profile.run_of(profile.lane(launch.lane).process);
    let mut by_variant: BTreeMap<(VariantId, Option<&str>), Hotspot> = BTreeMap::new();
    for (launch, time) in profile.timed() {
        let duration = time.duration() as f64;
        let key = (launch.variant, run_of(launch));
        let sums = by_variant.entry(key).or_default();
        sums.add(1, duration, Some(duration), Some(duration));
    }
    let mut lines = HotspotGroups {
        group,
        kernels: BTreeMap::new(),
    };
    for ((id, run), sums) in by_variant {
        let line = lines.line(profile.kernel_name(id), Some(*profile.variant(id)), run);
        line.add(sums.calls, sums.total_ns, sums.min_ns, sums.max_ns);
    }
    let mut found = Hotspots {
        from_summary: !profile.is_timed() && profile.summary(kind).next().is_some(),
        ..Hotspots::default()
    };
    if found.from_summary {
        let rows = profile.summary(kind);
        rows.for_each(|row| lines.summary(profile, row));
    } else {
        let timed = profile.timed().map(|(launch, _)| launch.lane);
        for row in profile.only_summarised(kind, timed) {
            lines.summary(profile, row);
            let label = profile.process_label(row.process);
            found.summarised.insert(label);
        }
        found.untimed = (profile.dispatches.len() - profile.timed().count()) as u64;
    }
    found.kernels = lines.kernels.into_values().collect();
    found
}

/// Lines by what counts as one kernel.
struct HotspotGroups {
    group: GroupBy,
    kernels: BTreeMap<HotspotKey, Hotspot>,
}

/// Name, variant and run of a kernel's row.
type HotspotKey = (String, Option<LaunchVariant>, Option<String>);

impl HotspotGroups {
    fn summary(&mut self, profile: &Profile, row: &ProfilerStatistic) {
        let run = profile.run_of(row.process);
        let line = self.line(profile.name(row.name), None, run);
        line.add(row.calls, row.total_ns, row.min_ns, row.max_ns);
    }

    fn line(
        &mut self,
        full_name: &str,
        variant: Option<LaunchVariant>,
        run: Option<&str>,
    ) -> &mut Hotspot {
        let (name, variant) = match self.group {
            GroupBy::FullName => (full_name, None),
            GroupBy::ShortName => (name::short(full_name), None),
            GroupBy::Variant => (full_name, variant),
        };
        let (name, run) = (name.to_owned(), run.map(str::to_owned));
        let key = (name.clone(), variant, run.clone());
        self.kernels.entry(key).or_insert_with(|| Hotspot {
            name,
            variant,
            run,
            ..Hotspot::default()
        })
    }
}

impl Hotspots {
    /// Builds a table of the `limit` kernels with the longest time.
    pub fn table(&self, limit: usize) -> TextTable {
        let total = time(self.total_ns);
        let title = format!("Kernels by time on the device ({total} in all)");
        let mut columns = TableColumns::titled(title, &self.kernels)
            .first(limit)
            .left("kernel", |kernel| kernel.name.clone());
        if !self.runs.is_empty() {
            columns = columns.left("run", |kernel| kernel.run.clone());
        }
        columns = columns
            .right("calls", |kernel| kernel.calls.to_string())
            .right("total", |kernel| time(kernel.total_ns))
            .right("mean", |kernel| time(kernel.mean_ns()))
            .right("min", |kernel| or_not_reported(kernel.min_ns.map(time)))
            .right("max", |kernel| or_not_reported(kernel.max_ns.map(time)))
            .right("share", |kernel| percent(kernel.percent));
        let any = |has: fn(&Hotspot) -> bool| self.kernels.iter().any(has);
        if any(|kernel| kernel.calls_per_step.is_some()) {
            columns = columns.right("calls a step", |kernel| {
                or_not_reported(kernel.calls_per_step.map(figure))
            });
        }
        if any(|kernel| kernel.variant.is_some()) {
            let shape = |kernel: &Hotspot, of: fn(LaunchVariant) -> Option<String>| {
                or_not_reported(kernel.variant.and_then(of))
            };
            columns = columns
                .right("workgroup", move |kernel| {
                    shape(kernel, |variant| Some(axes(&variant.workgroup?)))
                })
                .right("grid", move |kernel| {
                    shape(kernel, |variant| Some(axes(&variant.grid?)))
                })
                .right("VGPRs", move |kernel| {
                    shape(kernel, |variant| Some(variant.vgpr?.to_string()))
                });
        }
        if any(|kernel| kernel.part.is_some()) {
            columns = columns.left("part of the model", |kernel| {
                kernel.part.clone().unwrap_or_default()
            });
        }
        let mut table = TextTable::from(columns);
        if self.kernels.len() > limit {
            let rest = &self.kernels[limit..];
            let rest_ns: f64 = rest.iter().map(|kernel| kernel.total_ns).sum();
            let share = percent(Share(rest_ns / self.total_ns.max(1.0)));
            table.note(format!("{} more kernels take {share}", rest.len()));
        }
        if let untimed @ 1.. = self.untimed {
            table.note(format!(
                "{untimed} launches have no usable time and are left out"
            ));
        }
        for (run, calls, total_ns) in &self.runs {
            table.note(format!("{run}: {} in {calls} launches", time(*total_ns)));
        }
        for process in &self.summarised {
            table.note(format!(
                "process {process} has only the profiler's own summary, which is in these sums"
            ));
        }
        if self.from_summary {
            table.note("from a summary; the file has no single launches with their times");
        }
        table
    }
}

/// Formats `64x1x1` as `64`, `16x16x1` as `16x16`.
fn axes<T: std::fmt::Display + PartialEq + From<u8>>(axes: &[T; 3]) -> String {
    let one = T::from(1);
    let last = axes.iter().rposition(|axis| *axis != one).unwrap_or(0);
    itertools::join(&axes[..=last], "x")
}
