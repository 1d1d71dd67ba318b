//! Starting the runs an analysis needs, one after the other, and what each gave.

use std::path::{Path, PathBuf};

use anyhow::Context;
use thiserror::Error;

use super::sweep::Pool;
pub use crate::run::Control as Stop;
use crate::run::energy::RunEnergy;
use crate::run::finished::stream_of;
use crate::run::{
    Ended, FinishedRun, Launcher, Line, Measurements, RunExit, RunSpec, Start, Told, UsageError,
    supervise,
};
use tinyllama_contract::event::{Body, Event, FailureCode, Hello, Kernels, Parts, Step, Summary};

/// A target with flags of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// As tables show it.
    pub name: String,
    pub spec: RunSpec,
}

impl Variant {
    /// `spec` with flags before its own, and flags after them.
    ///
    /// # Errors
    /// When `run` does not take them.
    pub fn new(
        name: impl Into<String>,
        spec: &RunSpec,
        before: &[String],
        after: &[String],
    ) -> Result<Self, UsageError> {
        Ok(Self {
            name: name.into(),
            spec: spec.within(before, after)?.checked()?,
        })
    }
}

/// Starts runs one at a time and keeps their files.
#[derive(Clone, Debug)]
pub struct Runner {
    pub launcher: Launcher,
    /// `runs/ID` folders are made below it.
    pub root: PathBuf,
    /// Ends the run in progress and lets no further one start.
    pub stop: Stop,
    /// Runs that were made already.
    pub pool: Pool,
}

/// A finished run that came to its end, with its measured steps.
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
    pub ended: Ended,
}

impl Failed {
    fn text(&self) -> String {
        let Ended { run, exit, .. } = &self.ended;
        let ended = format!("ended with {exit}");
        let files = format!("its files are in {}", run.path.display());
        match &run.failure {
            Some(failure) => format!(
                "{}: {}\n       {}\n       ({ended}; {files})",
                self.variant, failure.message, failure.remedy
            ),
            None => format!("{} {ended}; {files}\n{}", self.variant, self.ended.stderr),
        }
    }

    /// Why, as far as the run, or its exit status, says.
    pub fn code(&self) -> Option<FailureCode> {
        let failure = self.ended.run.failure.as_ref().map(|failure| failure.code);
        match (failure, self.ended.exit) {
            // A model that cannot fit is refused before it starts, as wrong usage.
            (None | Some(FailureCode::OutOfMemory), RunExit::Status(2)) => Some(FailureCode::Usage),
            (None, RunExit::Status(3)) => Some(FailureCode::Environment),
            (told, _) => told,
        }
    }

    /// Whether the device, or the machine, had too little memory for it.
    pub fn is_out_of_memory(&self) -> bool {
        match &self.ended.run.failure {
            Some(failure) => failure.code == FailureCode::OutOfMemory,
            // Linux ends the largest program when a machine's memory is full.
            None => self.ended.exit == RunExit::Signal(libc::SIGKILL),
        }
    }
}

impl Runner {
    /// Runs `variant` and hands every event to `watch`.
    ///
    /// # Errors
    /// When the run cannot be started, fails, ends early, or a stop was requested.
    pub fn run(
        &self,
        variant: &Variant,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<MeasuredRun, RunFailure> {
        self.check_stop()?;
        if let Some(made) = self.pool.take(variant) {
            return made;
        }
        let start = self.launcher.run(&variant.spec);
        let (ended, steps) = self.see(&start, &self.stop, watch)?;
        MeasuredRun::ended(variant, ended, steps)
    }

    /// A run from its start to its end, with its measured steps.
    pub(super) fn see(
        &self,
        start: &Start,
        control: &Stop,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<(Ended, Vec<Step>), RunFailure> {
        let mut steps = Vec::new();
        let ended = supervise(start, &self.root, control, &mut |told| {
            if let Told::Line(Line::Event(event)) = told {
                watch(&event);
                steps.extend(measured_step(&event));
            }
            Ok(())
        });
        self.check_stop()?;
        Ok((ended?, steps))
    }

    /// Whether no further run is to be started.
    ///
    /// # Errors
    /// When a stop was requested.
    pub fn check_stop(&self) -> Result<(), RunFailure> {
        match self.stop.stopped() {
            Some(signal) => Err(RunFailure::Interrupted { signal }),
            None => Ok(()),
        }
    }
}

impl MeasuredRun {
    /// None without a complete summary.
    pub(super) fn of(run: &FinishedRun, steps: Vec<Step>) -> Option<Self> {
        let run = run.clone();
        Some(MeasuredRun {
            path: run.path,
            hello: run.hello?,
            summary: run.summary.filter(|summary| summary.complete)?,
            measurements: run.measurements,
            steps,
            parts: run.parts,
            kernels: run.kernels,
            energy: run.energy,
        })
    }

    /// Reads a kept run: its folder, or an event stream.
    ///
    /// # Errors
    /// When the file cannot be read, or the run did not come to its end.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let file = || stream_of(path).display().to_string();
        let mut steps = Vec::new();
        let run = FinishedRun::read_with(path, |event| steps.extend(measured_step(event)))
            .with_context(|| format!("cannot read {}", file()))?;
        Self::of(&run, steps).with_context(|| {
            format!(
                "{} holds no run that came to its end: start it again, or name another",
                file()
            )
        })
    }
}

fn measured_step(event: &Event) -> Option<Step> {
    match &event.body {
        Body::Step(step) if step.measured => Some(step.clone()),
        _ => None,
    }
}
