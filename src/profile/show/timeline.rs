//! A timeline of what ran, and the gaps of the device.

use std::collections::BTreeMap;

use crate::model::{NameId, ProcessId, Profile, TimeSpan, TraceLane};
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Share, or_not_reported, percent, time};

/// A bar of the timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelineSpan {
    pub name: NameId,
    pub time: TimeSpan,
}

/// The content of a row of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimelineRow {
    /// Kernels of an agent's queue.
    Kernels(ProcessId, Option<u64>, Option<u64>),
    Copies(ProcessId),
    /// Calls of a thread.
    Calls(ProcessId, Option<u64>),
}

/// Builds rows of bars, each sorted by start.
pub fn rows(profile: &Profile) -> BTreeMap<TimelineRow, Vec<TimelineSpan>> {
    let mut rows: BTreeMap<TimelineRow, Vec<TimelineSpan>> = BTreeMap::new();
    for (lane, span) in kernels(profile) {
        let row = TimelineRow::Kernels(lane.process, lane.agent, lane.queue);
        rows.entry(row).or_default().push(span);
    }
    for copy in &profile.copies {
        let (name, time) = (copy.direction, copy.time);
        let row = TimelineRow::Copies(profile.lane(copy.lane).process);
        rows.entry(row)
            .or_default()
            .push(TimelineSpan { name, time });
    }
    for call in &profile.calls {
        let lane = profile.lane(call.lane);
        let (name, time) = (call.function, call.time);
        let row = TimelineRow::Calls(lane.process, lane.thread);
        rows.entry(row)
            .or_default()
            .push(TimelineSpan { name, time });
    }
    for spans in rows.values_mut() {
        spans.sort_by_key(|span| (span.time.start, span.time.end));
    }
    rows
}

/// Returns the lane and the bar of each timed launch.
fn kernels(profile: &Profile) -> impl Iterator<Item = (&TraceLane, TimelineSpan)> {
    profile.timed().map(|(launch, time)| {
        let name = profile.variant(launch.variant).kernel;
        (profile.lane(launch.lane), TimelineSpan { name, time })
    })
}

/// A time in which nothing ran on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    pub time: TimeSpan,
    /// Names of the work before and after.
    pub before: NameId,
    pub after: NameId,
}

/// How busy a device was from its first kernel or copy to its last.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    pub process: ProcessId,
    pub agent: Option<u64>,
    pub span: TimeSpan,
    /// Nanoseconds in which at least one kernel or copy ran.
    pub busy_ns: u64,
    /// Longest first.
    pub gaps: Vec<Gap>,
}

impl Activity {
    /// Share of the span in which nothing ran, from 0 to 1. `None` for a span of no length.
    pub fn idle_share(&self) -> Option<f64> {
        let span = self.span.duration();
        (span > 0).then(|| 1.0 - self.busy_ns as f64 / span as f64)
    }
}

/// Activity of each device and process with timed kernels.
pub fn activity(profile: &Profile) -> Vec<Activity> {
    let mut work: BTreeMap<(ProcessId, Option<u64>), Vec<TimelineSpan>> = BTreeMap::new();
    for (lane, span) in kernels(profile) {
        let device = work.entry((lane.process, lane.agent)).or_default();
        device.push(span);
    }
    for copy in &profile.copies {
        let process = profile.lane(copy.lane).process;
        let (name, time) = (copy.direction, copy.time);
        for agent in [copy.source, copy.destination] {
            // A copy keeps the devices at both ends busy. Processors have no kernels and therefore no entry.
            if let Some(device) = work.get_mut(&(process, agent)) {
                device.push(TimelineSpan { name, time });
            }
        }
    }
    work.into_iter()
        .filter_map(|((process, agent), spans)| activity_of(process, agent, spans))
        .collect()
}

/// Nanoseconds in which at least one device had work. Times of several hosts are taken as of one clock.
pub fn any_busy(profile: &Profile) -> u64 {
    let copies = profile.copies.iter().map(|copy| copy.time);
    let times = profile.timed().map(|(_, time)| time).chain(copies);
    let mut times: Vec<TimeSpan> = times.collect();
    times.sort_by_key(|time| (time.start, time.end));
    let (mut busy_ns, mut end) = (0, i64::MIN);
    for time in times {
        busy_ns += time
            .end
            .saturating_sub(time.start.max(end))
            .max(0)
            .unsigned_abs();
        end = end.max(time.end);
    }
    busy_ns
}

fn activity_of(
    process: ProcessId,
    agent: Option<u64>,
    mut spans: Vec<TimelineSpan>,
) -> Option<Activity> {
    spans.sort_by_key(|span| (span.time.start, span.time.end));
    let first = *spans.first()?;
    // The bar that ends last so far. A short kernel may run inside a long one.
    let mut last = first;
    let mut busy_ns = first.time.duration();
    let mut gaps = Vec::new();
    for span in &spans[1..] {
        if span.time.start > last.time.end {
            gaps.push(Gap {
                time: TimeSpan {
                    start: last.time.end,
                    end: span.time.start,
                },
                before: last.name,
                after: span.name,
            });
        }
        if span.time.end > last.time.end {
            busy_ns += span.time.end.abs_diff(span.time.start.max(last.time.end));
            last = *span;
        }
    }
    gaps.sort_by_key(|gap| std::cmp::Reverse(gap.time.duration()));
    Some(Activity {
        process,
        agent,
        span: TimeSpan {
            start: first.time.start,
            end: last.time.end,
        },
        busy_ns,
        gaps,
    })
}

/// Builds a table of the devices' idle share.
pub fn table(profile: &Profile) -> TextTable {
    let activity = activity(profile);
    let title = "Device activity, from the first kernel to the last";
    let columns = TableColumns::titled(title, &activity)
        .left("device", |device| {
            device_label(profile, device.process, device.agent)
        })
        .right("span", |device| time(device.span.duration() as f64))
        .right("busy", |device| time(device.busy_ns as f64))
        .right("idle", |device| {
            or_not_reported(device.idle_share().map(Share).map(percent))
        })
        .right("gaps", |device| device.gaps.len().to_string());
    let mut table = TextTable::from(columns);
    if activity.len() > 1 {
        let busy = time(any_busy(profile) as f64);
        table.note(format!("at least one of the devices was busy for {busy}"));
    }
    table
}

/// Formats `gfx942 (agent 4)`. Adds the process if there are several.
pub fn device_label(profile: &Profile, process: ProcessId, agent: Option<u64>) -> String {
    let known = agent.and_then(|number| profile.agent(number));
    let mut label = match (known, agent) {
        (Some(known), Some(number)) => format!("{} (agent {number})", known.name),
        (None, Some(number)) => format!("agent {number}"),
        _ => "device".to_owned(),
    };
    if profile.has_several_processes() {
        label.push_str(&format!(", {}", profile.process_label(process)));
        if let Some(pass) = &profile.process(process).pass {
            label.push_str(&format!(" {}", pass.name));
        }
    }
    label
}
