//! Starts runs as steps of a Slurm allocation: the one that contains this process, or one that the session holds.

mod allocation;
pub mod array;
pub mod keeper;
mod queue;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use self::allocation::SlurmAllocation;
use super::error::LaunchError;
use super::local_end::{EventWriter, Reconnect, Transport};
use super::remote_end::stream;
use super::settings::Settings;

const JOB: &str = "SLURM_JOB_ID";
const STEP: &str = "SLURM_STEP_ID";

/// Returns whether this process is inside an allocation.
pub(super) fn is_inside() -> bool {
    env::var_os(JOB).is_some_and(|job| !job.is_empty())
}

/// Requested resources, as arguments of `sbatch` and `srun`: one argument each, even with spaces in it.
fn resource_flags(settings: &Settings) -> Vec<OsString> {
    let slurm = &settings.slurm;
    let cpus = slurm.cpus.map(|cpus| cpus.to_string());
    let flags = [
        ("partition", &slurm.partition),
        ("account", &slurm.account),
        ("qos", &slurm.qos),
        ("time", &slurm.time),
        ("gres", &slurm.gres),
        ("cpus-per-task", &cpus),
    ];
    let given = flags
        .into_iter()
        .filter_map(|(flag, value)| Some(format!("--{flag}={}", value.as_ref()?)));
    given
        .chain(slurm.options.iter().cloned())
        .map(OsString::from)
        .collect()
}

/// One process on one node.
const ONE: [&str; 2] = ["--nodes=1", "--ntasks=1"];

/// Flags of every submitted job.
const SUBMITTED: [&str; 6] = [
    "--parsable",
    "--job-name=tinyllama-tutor",
    "--output=/dev/null",
    "--no-requeue",
    ONE[0],
    ONE[1],
];

/// Command that starts a program as its own job or step.
pub(super) fn job_flags(settings: &Settings) -> Vec<OsString> {
    let mut argv = vec![OsString::from("srun")];
    argv.extend(ONE.map(OsString::from));
    if !is_inside() {
        argv.extend(resource_flags(settings));
    }
    argv
}

/// Starts a run on a node of Slurm.
pub(super) struct Slurm<'a> {
    settings: &'a Settings,
    /// `None` if this process is inside an allocation.
    allocation: Option<SlurmAllocation>,
    /// Set if no session holds the allocation. Dropping it gives the allocation back.
    _alone: Option<TempDir>,
    job: String,
    /// The unique name of the step. `None` for a task of a job array.
    step: Option<String>,
}

impl<'a> Slurm<'a> {
    pub(super) fn new(settings: &'a Settings, kept: Option<PathBuf>) -> Result<Self> {
        let mut alone = None;
        let inside = env::var(JOB).ok().filter(|job| !job.is_empty());
        let allocation = match (&inside, kept) {
            (Some(_), _) => None,
            (None, Some(folder)) => Some(SlurmAllocation::new(folder)),
            (None, None) => {
                let folder = tempfile::tempdir().context("no folder for the allocation")?;
                let allocation = SlurmAllocation::new(folder.path().to_path_buf());
                alone = Some(folder);
                Some(allocation)
            }
        };
        Ok(Slurm {
            settings,
            allocation,
            _alone: alone,
            job: inside.unwrap_or_default(),
            step: Some(format!("tutor-{}", std::process::id())),
        })
    }

    /// For a task of a job array, which Slurm starts.
    pub(super) fn task(settings: &'a Settings, job: String) -> Self {
        Slurm {
            settings,
            allocation: None,
            _alone: None,
            job,
            step: None,
        }
    }

    fn step_id(&self) -> Option<String> {
        queue::step(&self.job, self.step.as_ref()?).ok().flatten()
    }

    /// Returns whether the writer of the stream is still active.
    fn is_alive(&self) -> bool {
        let found = || queue::job(&self.job).ok().flatten();
        match &self.step {
            Some(_) => self.step_id().is_some(),
            None => found().is_some_and(|job| job.is_alive()),
        }
    }
}

impl Drop for Slurm<'_> {
    fn drop(&mut self) {
        if let (Some(allocation), Some(_)) = (&self.allocation, &self._alone) {
            allocation.release();
        }
    }
}

impl Transport for Slurm<'_> {
    fn name(&self) -> String {
        format!("job {}", self.job)
    }

    fn wait_until_ready(&mut self, events: &mut EventWriter) -> Result<(), LaunchError> {
        if let Some(allocation) = &mut self.allocation {
            self.job = allocation.wait_for(&resource_flags(self.settings), events)?;
        } else if self.step.is_none() {
            queue::wait_for(&self.job, events)?;
        }
        Ok(())
    }

    fn command(&self, far: Vec<OsString>) -> Vec<OsString> {
        let mut argv = vec![OsString::from("srun")];
        argv.extend(ONE.map(OsString::from));
        argv.extend(["--input=none", "--unbuffered"].map(OsString::from));
        argv.push(format!("--jobid={}", self.job).into());
        if let Some(step) = &self.step {
            argv.push(format!("--job-name={step}").into());
        }
        if env::var_os(STEP).is_some() {
            // This process is a step itself and holds all resources of the allocation.
            argv.push("--overlap".into());
        }
        if let Some(cpus) = self.settings.slurm.cpus {
            argv.push(format!("--cpus-per-task={cpus}").into());
        }
        argv.extend(far);
        argv
    }

    fn has_stdin(&self) -> bool {
        false
    }

    fn cancel(&self) {
        match (&self.step, self.step_id()) {
            (Some(_), Some(step)) => queue::signal(&step, "URG"),
            // The step does not exist yet and will not be started.
            (Some(_), None) => {}
            (None, _) => queue::cancel(&self.job),
        }
    }

    fn reconnect(&mut self, _: &[OsString], name: &Path, said: &str) -> Reconnect {
        let is_over = stream(name).is_ok_and(|stream| stream.is_over());
        match is_over || self.is_alive() {
            true => Reconnect::Read,
            false => Reconnect::Never(self.trouble(said)),
        }
    }

    fn on_output(&mut self) {}

    fn trouble(&self, said: &str) -> LaunchError {
        let by_words = LaunchError::from_slurm_message(said);
        if !matches!(by_words, LaunchError::Other(_)) || self.job.is_empty() {
            return by_words;
        }
        // When a job ends, Slurm takes some seconds to report how.
        for _ in 0..5 {
            match queue::job(&self.job) {
                Ok(Some(job)) if job.state == "COMPLETING" => thread::sleep(Duration::from_secs(1)),
                Ok(Some(job)) => return LaunchError::of_state(&job.state).unwrap_or(by_words),
                Ok(None) => return LaunchError::Lost,
                Err(trouble) => return trouble,
            }
        }
        by_words
    }

    fn waiting_reason(&self, line: &str) -> Option<&'static str> {
        line.contains("step creation temporarily disabled")
            .then_some("waiting for another step of this allocation to end")
    }
}
