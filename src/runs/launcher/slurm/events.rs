//! Writes events of the launcher among those of the run, on standard output.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use tinyllama_contract::{Body, Event, Failure, Phase, PhaseName};

/// The longest time until a request to end is noticed.
pub(super) const TICK: Duration = Duration::from_millis(200);

/// Returns a flag that the first ending signal sets. These signals have no other effect from then on.
pub(super) fn end_signals() -> Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&asked)).context("cannot listen for signals")?;
    }
    Ok(asked)
}

/// Reports what happens before a run, and passes the run's lines on.
pub(super) struct EventWriter {
    began: Instant,
    /// Seconds from this process's start to the run's first line. The run's times count from there.
    zero: Option<f64>,
    /// The message of the last phase.
    last: String,
    stop: Arc<AtomicBool>,
}

impl EventWriter {
    pub(super) fn new() -> Result<Self> {
        Ok(EventWriter {
            began: Instant::now(),
            zero: None,
            last: String::new(),
            stop: end_signals()?,
        })
    }

    /// Returns whether the end was requested.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits for `time`. Returns false as soon as the end is requested.
    pub(super) fn wait(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.is_stopped() && Instant::now() < until {
            thread::sleep(TICK.min(time));
        }
        !self.is_stopped()
    }

    /// Reports what is waited for, once until it changes, and the expected seconds.
    pub(super) fn report_phase(&mut self, message: &str, eta_s: Option<f64>) {
        if self.last == message {
            return;
        }
        self.last = message.into();
        self.event(Body::Phase(Phase {
            phase: PhaseName::Queue,
            progress: None,
            eta_s,
            message: message.into(),
        }));
    }

    pub(super) fn failure(&mut self, failure: Failure) {
        self.event(Body::Error(failure));
    }

    fn event(&mut self, body: Body) {
        let t = self.began.elapsed().as_secs_f64();
        if let Ok(line) = serde_json::to_string(&Event { t, body }) {
            self.write_line(format!("{line}\n").as_bytes());
        }
    }

    fn write_line(&mut self, line: &[u8]) {
        let mut out = io::stdout().lock();
        if out.write_all(line).and_then(|()| out.flush()).is_err() {
            // The reader has closed the output, so the run may end.
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Passes a line of the run on, with its time counted from this process's start.
    pub(super) fn forward(&mut self, line: &[u8]) {
        let zero = *self
            .zero
            .get_or_insert_with(|| self.began.elapsed().as_secs_f64());
        let later = shifted(line, zero);
        self.write_line(later.as_deref().unwrap_or(line));
    }
}

/// Adds `seconds` to the time of an event's line. Returns `None` for other lines.
fn shifted(line: &[u8], seconds: f64) -> Option<Vec<u8>> {
    const BEFORE: &[u8] = br#"{"t":"#;
    let rest = line.strip_prefix(BEFORE)?;
    let end = memchr::memchr(b',', rest)?;
    let t: f64 = str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    let t = serde_json::to_vec(&(t + seconds)).ok()?;
    Some([BEFORE, &t, &rest[end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_events_go_on_where_the_queue_left_off_and_other_lines_stay() {
        let later =
            |line: &str| shifted(line.as_bytes(), 2.5).map(|line| String::from_utf8(line).unwrap());
        assert_eq!(
            later("{\"t\":0.25,\"event\":\"note\"}\n").as_deref(),
            Some("{\"t\":2.75,\"event\":\"note\"}\n")
        );
        for line in ["{\n", "{\"t\":\"x\",", "", "rocprofv3: {\"t\":1,"] {
            assert_eq!(later(line), None, "{line}");
        }
    }
}
