//! A timeline of what ran, and the gaps of the device.

use std::collections::BTreeMap;

use super::intervals::Intervals;
use crate::model::{NameId, ProcessId, Profile, TimeSpan};
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
    let mut add = |row, name, time| {
        let spans = rows.entry(row).or_default();
        spans.push(TimelineSpan { name, time });
    };
    for (launch, time) in profile.timed() {
        let lane = profile.lane(launch.lane);
        let row = TimelineRow::Kernels(lane.process, lane.agent, lane.queue);
        add(row, profile.variant(launch.variant).kernel, time);
    }
    for copy in &profile.copies {
        let row = TimelineRow::Copies(profile.lane(copy.lane).process);
        add(row, copy.direction, copy.time);
    }
    for call in &profile.calls {
        let lane = profile.lane(call.lane);
        let row = TimelineRow::Calls(lane.process, lane.thread);
        add(row, call.function, call.time);
    }
    for spans in rows.values_mut() {
        spans.sort_by_key(|span| (span.time.start, span.time.end));
    }
    rows
}

/// How busy a device was from its first kernel or copy to its last.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    pub process: ProcessId,
    pub agent: Option<u64>,
    pub span: TimeSpan,
    /// Nanoseconds in which at least one kernel or copy ran.
    pub busy_ns: u64,
    /// Times in which nothing ran, the longest first.
    pub gaps: Vec<TimeSpan>,
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
    let mut work: BTreeMap<(ProcessId, Option<u64>), Vec<TimeSpan>> = BTreeMap::new();
    for (launch, time) in profile.timed() {
        let lane = profile.lane(launch.lane);
        let device = work.entry((lane.process, lane.agent)).or_default();
        device.push(time);
    }
    for copy in &profile.copies {
        let process = profile.lane(copy.lane).process;
        for agent in [copy.source, copy.destination] {
            // A copy keeps the devices at both ends busy. Processors have no kernels and therefore no entry.
            if let Some(device) = work.get_mut(&(process, agent)) {
                device.push(copy.time);
            }
        }
    }
    let devices = work.into_iter().filter_map(|((process, agent), times)| {
        let busy = Intervals::new(times);
        let mut gaps = busy.gaps();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.duration()));
        Some(Activity {
            process,
            agent,
            span: busy.span()?,
            busy_ns: busy.length(),
            gaps,
        })
    });
    devices.collect()
}

/// Nanoseconds in which at least one device had work. Times of several hosts are taken as of one clock.
pub fn any_busy(profile: &Profile) -> u64 {
    let copies = profile.copies.iter().map(|copy| copy.time);
    let times = profile.timed().map(|(_, time)| time).chain(copies);
    Intervals::new(times.collect()).length()
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
