//! Collects the events of a run from all threads.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::train::{
    Body, Event, Failure, Note, Phase, PhaseName, Step, StopReason, StopSignal, Tally,
};

/// Takes the events of a run, in order.
pub trait EventSink: Send {
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Called once after the last event.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Emits events and keeps the tally; clones share both.
#[derive(Clone)]
pub struct Reporter {
    shared: Arc<Mutex<ReporterState>>,
    started: Instant,
    stop: StopSignal,
}

struct ReporterState {
    sink: Box<dyn EventSink>,
    tally: Tally,
    /// True once the last event is out: nothing follows a summary or an error.
    closed: bool,
}

impl Reporter {
    pub fn new(sink: Box<dyn EventSink>, tally: Tally, stop: StopSignal) -> Self {
        Reporter {
            shared: Arc::new(Mutex::new(ReporterState {
                sink,
                tally,
                closed: false,
            })),
            started: Instant::now(),
            stop,
        }
    }

    /// Emits `body`. If the sink fails, for example on a closed pipe, the run stops at the next step.
    pub fn emit(&self, body: Body) {
        let mut shared = self.shared.lock();
        self.emit_locked(&mut shared, body);
    }

    fn emit_locked(&self, shared: &mut ReporterState, body: Body) {
        if shared.closed {
            return;
        }
        let event = Event {
            t: self.started.elapsed().as_secs_f64(),
            body,
        };
        if let Err(error) = shared.sink.event(&event) {
            shared.closed = true;
            self.stop.request(StopReason::OutputClosed(error.kind()));
        }
    }

    /// Emits the phase that the run enters.
    pub fn phase(&self, phase: PhaseName, message: String) {
        self.emit(Body::Phase(Phase {
            phase,
            progress: None,
            eta_s: None,
            message,
        }));
    }

    /// Emits a note for the reader.
    pub fn note(&self, message: String) {
        self.emit(Body::Note(Note { message }));
    }

    /// Emits a step and adds it to the tally.
    pub fn step(&self, step: Step) {
        let mut shared = self.shared.lock();
        shared.tally.add(&step);
        self.emit_locked(&mut shared, Body::Step(step));
    }

    /// Changes the tally.
    pub fn update(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.shared.lock().tally);
    }

    /// Returns the median of the measured steps so far, in milliseconds.
    pub fn median_ms(&self) -> Option<f64> {
        self.shared.lock().tally.median_ms()
    }

    /// Emits the summary once; a second call finds the stream closed.
    pub fn finish(&self, complete: bool) {
        self.end(complete, None);
    }

    /// Emits a summary of the work so far and then the reason why the run ends.
    pub fn fail(&self, failure: Failure) {
        self.end(false, Some(failure));
    }

    fn end(&self, complete: bool, failure: Option<Failure>) {
        let mut shared = self.shared.lock();
        let summary = shared.tally.summary(complete);
        self.emit_locked(&mut shared, Body::Summary(Box::new(summary)));
        if let Some(failure) = failure {
            self.emit_locked(&mut shared, Body::Error(failure));
        }
        if shared.closed {
            return;
        }
        shared.closed = true;
        if let Err(error) = shared.sink.finish() {
            self.stop.request(StopReason::OutputClosed(error.kind()));
        }
    }
}
