//! The cost of launching kernels: the host's call, the way to the device, and the pause between kernels.

use std::collections::BTreeMap;

use serde::Serialize;

use super::launch_calls::{LaunchCalls, LaunchCounts, NOT_PAIRED};
use crate::model::{ApiCall, Profile, TimeSpan, is_marker_domain};
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Share, or_not_reported, percent, time};

/// Least, median, spread and sum of a set of durations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Durations {
    pub count: u64,
    pub total_ns: f64,
    pub least_ns: f64,
    pub median_ns: f64,
    pub p90_ns: f64,
}

impl Durations {
    pub fn from_nanoseconds(mut durations: Vec<i64>) -> Option<Self> {
        durations.sort_unstable();
        // The nearest rank, so that the result is a measured value.
        let at = |share: f64| {
            let rank = (share * durations.len() as f64).ceil() as usize;
            let value = durations.get(rank.saturating_sub(1));
            value.map(|&value| value as f64)
        };
        Some(Durations {
            count: durations.len() as u64,
            total_ns: durations.iter().map(|&value| value as f64).sum(),
            least_ns: at(0.0)?,
            median_ns: at(0.5)?,
            p90_ns: at(0.9)?,
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LaunchOverhead {
    #[serde(rename = "count")]
    pub launches: u64,
    /// Time from the end of a kernel to the start of the next on the same queue. Overlapping kernels have none.
    pub gaps: Option<Durations>,
    /// Kernels that started before the previous kernel of the queue had ended.
    pub overlapping: u64,
    /// Share of the queues' time in those gaps, from 0 to 1.
    pub gap_share: Option<f64>,
    /// The host's calls that launch a kernel.
    pub calls: Option<Durations>,
    /// Time from the start of the launching call to the kernel's start. It includes waiting for earlier kernels.
    pub queueing: Option<Durations>,
    /// Calls against kernels. `None` if no launch call is in the profile.
    pub against_kernels: Option<LaunchCounts>,
    #[serde(skip)]
    pairs_nothing: bool,
}

/// In the names of functions that launch a graph.
pub(super) const GRAPH_LAUNCH: &str = "GraphLaunch";

/// Returns whether a function of HIP or CUDA launches kernels.
pub fn launches_a_kernel(function: &str) -> bool {
    let launches = [
        "LaunchKernel",
        "LaunchCooperativeKernel",
        "LaunchByPtr",
        GRAPH_LAUNCH,
    ];
    launches.iter().any(|launch| function.contains(launch))
}

/// Returns whether a call is a marker of the program (ROCTx). A marker may have any name.
pub fn is_marker(profile: &Profile, call: &ApiCall) -> bool {
    is_marker_domain(profile.name(call.domain))
}

/// Calls of the host that launch a kernel.
pub(super) fn launching_calls(profile: &Profile) -> impl Iterator<Item = &ApiCall> {
    let calls = profile.calls.iter();
    calls.filter(move |call| {
        !is_marker(profile, call) && launches_a_kernel(profile.name(call.function))
    })
}

/// Returns whether a profile has times of launches, or the calls that made them.
pub fn is_reported(profile: &Profile) -> bool {
    let mut calls = profile.calls.iter();
    profile.is_timed() || calls.any(|call| launches_a_kernel(profile.name(call.function)))
}

pub fn launch_overhead(profile: &Profile) -> LaunchOverhead {
    let (gaps, overlapping, span) = gaps_in_queues(profile);
    let gaps = Durations::from_nanoseconds(gaps);
    let gap_share = gaps.filter(|_| span > 0.0).map(|gaps| gaps.total_ns / span);
    let durations = launching_calls(profile).map(|call| call.time.duration() as i64);
    let calls = LaunchCalls::new(profile);
    LaunchOverhead {
        launches: profile.dispatches.len() as u64,
        gaps,
        overlapping,
        gap_share,
        calls: Durations::from_nanoseconds(durations.collect()),
        queueing: Durations::from_nanoseconds(queueing(profile, &calls)),
        against_kernels: LaunchCounts::new(profile),
        pairs_nothing: calls.pairs_nothing(),
    }
}

/// Gaps, overlapping kernels, and the nanoseconds that all queues span.
fn gaps_in_queues(profile: &Profile) -> (Vec<i64>, u64, f64) {
    let mut queues: BTreeMap<_, Vec<TimeSpan>> = BTreeMap::new();
    for (launch, time) in profile.timed() {
        let lane = profile.lane(launch.lane);
        let queue = (lane.process, lane.agent, lane.queue.or(lane.stream));
        queues.entry(queue).or_default().push(time);
    }
    let (mut gaps, mut overlapping, mut span) = (Vec::new(), 0, 0.0);
    for times in queues.values_mut() {
        times.sort_by_key(|time| (time.start, time.end));
        let Some(first) = times.first().copied() else {
            continue;
        };
        let mut end = first.end;
        for time in &times[1..] {
            if time.start >= end {
                gaps.push(time.start - end);
            } else {
                overlapping += 1;
            }
            end = end.max(time.end);
        }
        span += end.abs_diff(first.start) as f64;
    }
    (gaps, overlapping, span)
}

fn queueing(profile: &Profile, calls: &LaunchCalls) -> Vec<i64> {
    let launches = profile.timed();
    let waits = launches.filter_map(|(launch, time)| {
        let called = calls.call_of(launch)?.start;
        // The profiler aligns the clocks of host and device, but not perfectly.
        Some(time.start.checked_sub(called)?.max(0))
    });
    waits.collect()
}

impl LaunchOverhead {
    pub fn table(&self) -> TextTable {
        let lines = [
            ("gap between kernels of a queue", self.gaps),
            ("launching call on the host", self.calls),
            ("from that call to the kernel's start", self.queueing),
        ];
        let figure = |durations: Option<Durations>, of: fn(Durations) -> String| {
            or_not_reported(durations.map(of))
        };
        let title = format!("Launch overhead over {} launches", self.launches);
        let columns = TableColumns::titled(title, &lines)
            .left("", |line| line.0.to_owned())
            .right("count", |line| figure(line.1, |d| d.count.to_string()))
            .right("median", |line| figure(line.1, |d| time(d.median_ns)))
            .right("90 % below", |line| figure(line.1, |d| time(d.p90_ns)))
            .right("total", |line| figure(line.1, |d| time(d.total_ns)));
        let mut table = TextTable::from(columns);
        if let Some(counts) = self.against_kernels {
            table.note(counts.line());
        }
        if let Some(share) = self.gap_share {
            let share = percent(Share(share));
            table.note(format!("the queues stood still for {share} of their time"));
        }
        if let count @ 1.. = self.overlapping {
            table.note(format!(
                "{count} kernels started before the previous one had ended"
            ));
        }
        if self.pairs_nothing {
            table.note(NOT_PAIRED);
        }
        if self.calls.is_none() {
            table
                .note("the host's calls are in a runtime trace (profile rocprofv3 --kind runtime)");
        }
        table
    }
}
