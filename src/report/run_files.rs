//! What a run's folder says beyond the summary kept in the session's events.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use crate::analysis::Measurements;
use crate::run::{Line, read_line};
use crate::session::runs::events_file;
use crate::train::event::{Body, Event, Failure, Hello, Kernels, Parts, Step};

/// The event stream of a run, sorted.
#[derive(Debug, Default)]
pub struct RunFiles {
    pub hello: Option<Hello>,
    pub steps: Vec<Step>,
    pub parts: Option<Parts>,
    pub kernels: Option<Kernels>,
    pub failure: Option<Failure>,
    pub measurements: Measurements,
}

impl RunFiles {
    /// `Ok(None)` when the run's files are gone; the error is for the reader of the report.
    pub fn read(runs: &Path, run: &str) -> Result<Option<Self>, String> {
        let path = events_file(runs, run);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{} cannot be opened: {error}", path.display())),
        };
        let mut events = Vec::new();
        for line in BufReader::new(file).split(b'\n') {
            let line =
                line.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
            if let Line::Event(event) = read_line(&String::from_utf8_lossy(&line)) {
                events.push(*event);
            }
        }
        Ok(Some(Self::of(events)))
    }

    fn of(events: Vec<Event>) -> Self {
        let mut files = Self {
            measurements: Measurements::collect(&events),
            ..Self::default()
        };
        for event in events {
            match event.body {
                Body::Hello(hello) => files.hello = Some(*hello),
                Body::Step(step) => files.steps.push(step),
                Body::Parts(parts) => files.parts = Some(parts),
                Body::Kernels(kernels) => files.kernels = Some(kernels),
                Body::Error(failure) => files.failure = Some(failure),
                _ => {}
            }
        }
        files
    }
}
