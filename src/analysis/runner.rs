//! Starting the runs an analysis needs, one after the other, and what each gave.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::Context;
use thiserror::Error;

use super::Measurements;
use super::words::merged;
use crate::profiler::live::meter::EnergyMeter;
use crate::run::folder::{RunEnergy, RunFolder};
use crate::run::{Exited, Line, RunChild, RunCommand, read_line, signal_group};
use crate::train::event::{
    Body, Event, Failure, FailureCode, Hello, Kernels, Parts, Step, Summary,
};

/// A target with flags of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// As tables show it.
    pub name: String,
    pub target: String,
    pub flags: Vec<OsString>,
}

/// Starts runs one at a time and keeps their files.
#[derive(Clone, Debug)]
pub struct Runner {
    /// Words before the program, such as `srun --gres=gpu:1`.
    pub launcher: Vec<OsString>,
    /// The tutor's binary.
    pub program: PathBuf,
    /// `runs/ID` folders are made below it.
    pub root: PathBuf,
    pub stop: Stop,
}

/// A request to end whatever runs; set once, seen by all clones.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Mutex<StopState>>);

#[derive(Debug, Default)]
struct StopState {
    signal: Option<i32>,
    /// Process group of the run in progress.
    group: Option<u32>,
}

impl Stop {
    /// Asks the run in progress to end and lets no further one start.
    pub fn request(&self, signal: i32) {
        let mut state = self.lock();
        state.signal.get_or_insert(signal);
        if let Some(group) = state.group {
            signal_group(group, libc::SIGTERM);
        }
    }

    pub fn signal(&self) -> Option<i32> {
        self.lock().signal
    }

    fn running(&self, group: Option<u32>) {
        self.lock().group = group;
    }

    fn lock(&self) -> MutexGuard<'_, StopState> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A finished run and everything it reported.
#[derive(Clone, Debug)]
pub struct MeasuredRun {
    /// Folder, or the file it was read from.
    pub path: PathBuf,
    pub hello: Hello,
    pub summary: Summary,
    pub measurements: Measurements,
    /// Measured steps, in order.
    pub steps: Vec<Step>,
    pub parts: Option<Parts>,
    pub kernels: Option<Kernels>,
    pub energy: Option<RunEnergy>,
}

/// Why a run gave no figures.
#[derive(Debug, Error)]
pub enum RunFailure {
    #[error("interrupted; finished runs are kept")]
    Interrupted { signal: i32 },
    #[error("{}", .0.text())]
    Failed(Box<Failed>),
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

/// A run that ended without a complete summary.
#[derive(Debug)]
pub struct Failed {
    pub variant: String,
    pub status: Option<ExitStatus>,
    pub failure: Option<Failure>,
    pub folder: PathBuf,
    /// Last lines of its error stream.
    pub stderr: String,
}

impl Failed {
    fn text(&self) -> String {
        let ended = self
            .status
            .map_or("ended".into(), |status| format!("ended with {status}"));
        let files = format!("its files are in {}", self.folder.display());
        match &self.failure {
            Some(failure) => format!(
                "{}: {}\n       {}\n       ({ended}; {files})",
                self.variant, failure.message, failure.remedy
            ),
            None => format!("{} {ended}; {files}\n{}", self.variant, self.stderr),
        }
    }

    /// Why, as far as the run, or its exit status, says.
    pub fn code(&self) -> Option<FailureCode> {
        let status = || match self.status?.code()? {
            2 => Some(FailureCode::Usage),
            3 => Some(FailureCode::Environment),
            _ => None,
        };
        let told = self.failure.as_ref().map(|failure| failure.code);
        told.or_else(status)
    }

    /// Whether the device, or the machine, had too little memory for it.
    pub fn is_out_of_memory(&self) -> bool {
        use std::os::unix::process::ExitStatusExt;
        match &self.failure {
            // A model that cannot fit is refused before it starts, as wrong usage.
            Some(failure) => {
                failure.code == FailureCode::OutOfMemory
                    || failure.message.contains("this model needs about")
            }
            // Linux ends the largest program when a machine's memory is full.
            None => self.status.and_then(|status| status.signal()) == Some(libc::SIGKILL),
        }
    }
}

impl Runner {
    /// Runs `variant` with `more` flags, which go before its own, and hands every event to `watch`.
    ///
    /// # Errors
    /// When the run cannot be started, fails, ends early, or a stop was requested.
    pub fn run(
        &self,
        variant: &Variant,
        more: &[OsString],
        watch: &mut dyn FnMut(&Event),
    ) -> Result<MeasuredRun, RunFailure> {
        self.check_stop()?;
        let command = RunCommand {
            launcher: self.launcher.clone(),
            program: self.program.clone(),
            target: variant.target.clone(),
            flags: merged(&[&variant.flags[..], more].concat()),
        };
        let mut child = RunChild::start(&command, &self.root)?;
        let mut meter = EnergyMeter::beside(&command);
        self.stop.running(Some(child.id()));
        // A stop between the check above and this line found no group to end.
        if let Some(signal) = self.stop.signal() {
            self.stop.request(signal);
        }
        let mut collected = Collected::default();
        let read = loop {
            match child.next_line() {
                Ok(Some(Line::Event(event))) => {
                    watch(&event);
                    meter.hear(&event);
                    collected.add(&event);
                }
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let exited = read.and_then(|()| child.wait());
        self.stop.running(None);
        self.check_stop()?;
        let mut exited = exited?;
        exited.note_energy(meter.finish())?;
        collected.finish(variant, exited)
    }

    fn check_stop(&self) -> Result<(), RunFailure> {
        match self.stop.signal() {
            Some(signal) => Err(RunFailure::Interrupted { signal }),
            None => Ok(()),
        }
    }
}

/// What a stream told so far.
#[derive(Default)]
struct Collected {
    hello: Option<Hello>,
    summary: Option<Summary>,
    events: Vec<Event>,
    parts: Option<Parts>,
    kernels: Option<Kernels>,
    failure: Option<Failure>,
}

impl Collected {
    fn add(&mut self, event: &Event) {
        match &event.body {
            Body::Hello(hello) => self.hello = Some((**hello).clone()),
            Body::Summary(summary) => {
                self.summary = Some((**summary).clone());
                self.events.push(event.clone());
            }
            Body::Parts(parts) => {
                self.parts = Some(parts.clone());
                self.events.push(event.clone());
            }
            Body::Step(_) => self.events.push(event.clone()),
            Body::Kernels(kernels) => self.kernels = Some(kernels.clone()),
            Body::Error(failure) => self.failure = Some(failure.clone()),
            _ => {}
        }
    }

    fn finish(self, variant: &Variant, exited: Exited) -> Result<MeasuredRun, RunFailure> {
        let folder = exited.folder.path().to_path_buf();
        let failed = |failure| {
            RunFailure::Failed(Box::new(Failed {
                variant: variant.name.clone(),
                status: Some(exited.status),
                failure,
                folder: folder.clone(),
                stderr: exited.stderr.clone(),
            }))
        };
        if !exited.status.success() {
            return Err(failed(self.failure));
        }
        let failure = self.failure.clone();
        let energy = exited.folder.record.energy.clone();
        self.measured(folder.clone(), energy)
            .ok_or_else(|| failed(failure))
    }

    /// None without a complete summary.
    fn measured(self, path: PathBuf, energy: Option<RunEnergy>) -> Option<MeasuredRun> {
        let summary = self.summary.filter(|summary| summary.complete)?;
        Some(MeasuredRun {
            path,
            hello: self.hello?,
            summary,
            measurements: Measurements::collect(&self.events),
            steps: self
                .events
                .into_iter()
                .filter_map(|event| match event.body {
                    Body::Step(step) if step.measured => Some(step),
                    _ => None,
                })
                .collect(),
            parts: self.parts,
            kernels: self.kernels,
            energy,
        })
    }
}

impl MeasuredRun {
    /// Reads a kept run: its folder, or an event stream.
    ///
    /// # Errors
    /// When the file cannot be read, or the run did not come to its end.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let file = if path.is_dir() {
            path.join("events.jsonl")
        } else {
            path.to_path_buf()
        };
        let stream =
            File::open(&file).with_context(|| format!("cannot open {}", file.display()))?;
        let mut collected = Collected::default();
        for line in BufReader::new(stream).split(b'\n') {
            let line = line.with_context(|| format!("cannot read {}", file.display()))?;
            if let Line::Event(event) = read_line(&String::from_utf8_lossy(&line)) {
                collected.add(&event);
            }
        }
        let energy = RunFolder::read_record(path).and_then(|record| record.energy);
        collected
            .measured(path.to_path_buf(), energy)
            .with_context(|| {
                format!(
                    "{} holds no run that came to its end: start it again, or name another",
                    file.display()
                )
            })
    }
}
