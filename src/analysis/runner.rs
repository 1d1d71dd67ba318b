//! Starts the runs of an analysis one after the other and collects their figures.

use std::path::{Path, PathBuf};

use anyhow::Context;
use thiserror::Error;

use super::sweep::Pool;
use tinyllama_contract::event::{Body, Event, FailureCode, Hello, Kernels, Parts, Step, Summary};
use tinyllama_contract::flags::{RunSpec, UsageError};
pub use tinyllama_runs::Control as Stop;
use tinyllama_runs::energy::RunEnergy;
use tinyllama_runs::finished::stream_of;
use tinyllama_runs::{
    EndedRun, FinishedRun, Launcher, Line, Measurements, RunExit, RunStart, RunUpdate, supervise,
};

/// A target with its own flags.
#[derive(Clone, Debug, PartialEq)]
pub struct RunVariant {
    /// Name in tables.
    pub name: String,
    pub spec: RunSpec,
}

impl RunVariant {
    /// Adds flags before and after the flags of `spec`.
    ///
    /// # Errors
    /// Fails if `run` does not accept the flags.
    pub fn new(
        name: impl Into<String>,
        spec: &RunSpec,
        before: &[String],
        after: &[String],
    ) -> Result<Self, UsageError> {
        Ok(Self {
            name: name.into(),
            spec: spec.surrounded_by(before, after)?.checked()?,
        })
    }
}

/// Starts runs one at a time and keeps their files.
#[derive(Clone, Debug)]
pub struct Runner {
    pub launcher: Launcher,
    /// Folder that contains `runs/ID`.
    pub root: PathBuf,
    /// Ends the run in progress and prevents further ones.
    pub stop: Stop,
    /// Runs that were already made.
    pub pool: Pool,
}

/// A run that finished with a complete summary, and its measured steps.
#[derive(Clone, Debug)]
pub struct MeasuredRun {
    /// The run's folder, or the file it was read from.
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
    FailedRun(Box<FailedRun>),
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

/// A run that ended without a complete summary.
#[derive(Debug)]
pub struct FailedRun {
    pub variant: String,
    pub ended: EndedRun,
}

impl FailedRun {
    fn text(&self) -> String {
        let EndedRun { run, exit, .. } = &self.ended;
        let ended = format!("ended with {exit}");
        let files = format!("its files are in {}", run.path.display());
        match &run.reported.error {
            Some(failure) => format!(
                "{}: {}\n       {}\n       ({ended}; {files})",
                self.variant, failure.message, failure.remedy
            ),
            None => format!("{} {ended}; {files}\n{}", self.variant, self.ended.stderr),
        }
    }

    /// The reason, if the run or its exit status gives one.
    pub fn code(&self) -> Option<FailureCode> {
        let failure = self
            .ended
            .run
            .reported
            .error
            .as_ref()
            .map(|failure| failure.code);
        match (failure, self.ended.exit) {
            // `run` refuses a model that cannot fit before it starts, with the status for wrong usage.
            (None | Some(FailureCode::OutOfMemory), RunExit::Status(2)) => Some(FailureCode::Usage),
            (None, RunExit::Status(3)) => Some(FailureCode::Environment),
            (update, _) => update,
        }
    }

    /// Returns whether the device or the machine had too little memory for the run.
    pub fn is_out_of_memory(&self) -> bool {
        match &self.ended.run.reported.error {
            Some(failure) => failure.code == FailureCode::OutOfMemory,
            // Linux kills the largest program when the machine's memory is full.
            None => self.ended.exit == RunExit::Signal(libc::SIGKILL),
        }
    }
}

impl Runner {
    /// Runs `variant` and passes every event to `watch`.
    ///
    /// # Errors
    /// Fails if the run cannot be started, fails, ends early, or a stop was requested.
    pub fn run(
        &self,
        variant: &RunVariant,
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

    /// Watches a run from its start to its end and collects its measured steps.
    pub(super) fn see(
        &self,
        start: &RunStart,
        control: &Stop,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<(EndedRun, Vec<Step>), RunFailure> {
        let mut steps = Vec::new();
        let ended = supervise(start, &self.root, control, &mut |update| {
            if let RunUpdate::Line(Line::Event(event)) = update {
                watch(&event);
                steps.extend(measured_step(&event));
            }
            Ok(())
        });
        self.check_stop()?;
        Ok((ended?, steps))
    }

    /// Checks that a further run may start.
    ///
    /// # Errors
    /// Fails if a stop was requested.
    pub fn check_stop(&self) -> Result<(), RunFailure> {
        match self.stop.stopped() {
            Some(signal) => Err(RunFailure::Interrupted { signal }),
            None => Ok(()),
        }
    }
}

impl MeasuredRun {
    /// Returns `None` without a complete summary.
    pub(super) fn from_run(run: &FinishedRun, steps: Vec<Step>) -> Option<Self> {
        let run = run.clone();
        let reported = run.reported;
        Some(MeasuredRun {
            path: run.path,
            hello: reported.hello?,
            summary: reported.summary.filter(|summary| summary.complete)?,
            measurements: run.measurements,
            steps,
            parts: reported.parts,
            kernels: reported.kernels,
            energy: run.energy,
        })
    }

    /// Reads a stored run from its folder or from an event stream.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or the run did not reach its end.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let file = || stream_of(path).display().to_string();
        let mut steps = Vec::new();
        let run = FinishedRun::read_with(path, |event| steps.extend(measured_step(event)))
            .with_context(|| format!("cannot read {}", file()))?;
        Self::from_run(&run, steps).with_context(|| {
            format!(
                "{} holds no finished run: start it again, or name another",
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
