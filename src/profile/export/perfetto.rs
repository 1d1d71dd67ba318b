//! Writes the timeline as trace events in JSON. ui.perfetto.dev and chrome://tracing open them.

use std::io::{self, Write};

use serde_json::json;

use crate::model::Profile;
use crate::name;
use crate::show::timeline::{TimelineRow, device_label, rows};

/// Streams the trace, so that a profile of a million launches needs no second copy in memory.
///
/// # Errors
/// Fails if `output` cannot be written.
pub fn write(profile: &Profile, output: &mut dyn Write) -> io::Result<()> {
    let rows = rows(profile);
    // Perfetto stores microseconds in a double. Counted from the first event, nanoseconds survive.
    let firsts = rows.values().filter_map(|spans| spans.first());
    let origin = firsts.map(|span| span.time.start).min().unwrap_or(0);
    write!(output, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut separator = "";
    for (track, (row, spans)) in rows.iter().enumerate() {
        let (process, thread) = titles(profile, row);
        // Perfetto groups the tracks of a process by its title.
        let mut keys = rows.keys();
        let group = keys.position(|other| titles(profile, other).0 == process);
        let (pid, tid) = (group.unwrap_or(0) + 1, track + 1);
        let metadata = [("process_name", process), ("thread_name", thread)].map(
            |(kind, title)| json!({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": title}}),
        );
        for event in metadata {
            write!(output, "{separator}\n{event}")?;
            separator = ",";
        }
        for span in spans {
            let full_name = profile.name(span.name);
            let event = json!({
                "ph": "X",
                "name": name::short(full_name),
                "pid": pid,
                "tid": tid,
                "ts": microseconds(span.time.start.abs_diff(origin)),
                "dur": microseconds(span.time.duration()),
                "args": {"name": full_name},
            });
            write!(output, "{separator}\n{event}")?;
        }
    }
    write!(output, "\n]}}\n")
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn titles(profile: &Profile, row: &TimelineRow) -> (String, String) {
    match *row {
        TimelineRow::Kernels(process, agent, queue) => (
            device_label(profile, process, agent),
            queue.map_or("kernels".to_owned(), |queue| format!("queue {queue}")),
        ),
        TimelineRow::Copies(process) => (
            format!("copies, {}", profile.process(process).label),
            "copies".to_owned(),
        ),
        TimelineRow::Calls(process, thread) => (
            format!("host, {}", profile.process(process).label),
            thread.map_or("calls".to_owned(), |thread| format!("thread {thread}")),
        ),
    }
}
