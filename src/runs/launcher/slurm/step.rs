//! Makes a run as a step of an allocation: waits for the allocation, starts the run with `srun`, and passes its output on.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context, Result};
use signal_hook::consts::SIGTERM;

use super::allocation::SlurmAllocation;
use super::events::{EventWriter, TICK};
use super::{JOB, ONE, STEP, queue, resource_flags, wrap};
use crate::launcher::error::LaunchError;
use crate::launcher::settings::Settings;
use crate::launcher::{Launcher, VARIABLE};
use crate::supervise::STOPPED;
use crate::{each_line, signal_group};
use tinyllama_base::terminal::Stderr;
use tinyllama_base::{ScratchFolder, die_with_parent, errln};

/// How long a run may take to end before its step is ended.
const CANCEL_GRACE: Duration = Duration::from_secs(6);
/// Bytes at the end of an error stream that are examined.
const LAST_WORDS: usize = 4 << 10;
/// Status of a run that was never made, or was lost, because of the place.
const NO_PLACE: i32 = 3;

/// Runs `argv` in an allocation, and returns their status. `kept` is the folder of this session's allocation.
///
/// # Errors
/// Fails if this machine cannot start the launch.
pub fn run_step(launcher: &Launcher, kept: Option<PathBuf>, argv: &[OsString]) -> Result<i32> {
    let mut events = EventWriter::new()?;
    let mut place = StepPlace::new(kept)?;
    let made = place
        .wait_for_job(&launcher.settings, &mut events)
        .and_then(|job| match events.is_stopped() {
            true => Ok(STOPPED),
            false => SlurmStep::new(&launcher.settings, job).run(argv, &mut events),
        });
    let trouble = match made {
        Ok(status) => return Ok(status),
        Err(_) if events.is_stopped() => return Ok(STOPPED),
        Err(trouble) => trouble,
    };
    let failure = trouble.failure();
    errln!("error: {}\n       {}", failure.message, failure.remedy);
    events.failure(failure);
    Ok(NO_PLACE)
}

/// The allocation in which a step is made.
enum StepPlace {
    /// This process is inside the allocation with this number.
    Here(String),
    /// The session's keeper gives it back.
    Kept(SlurmAllocation),
    /// This process gives it back.
    Own {
        allocation: SlurmAllocation,
        _folder: ScratchFolder,
    },
}

impl StepPlace {
    fn new(kept: Option<PathBuf>) -> Result<Self> {
        if let Some(job) = env::var(JOB).ok().filter(|job| !job.is_empty()) {
            return Ok(StepPlace::Here(job));
        }
        if let Some(folder) = kept {
            return Ok(StepPlace::Kept(SlurmAllocation::new(folder)));
        }
        let folder = ScratchFolder::new().context("no folder for the allocation")?;
        Ok(StepPlace::Own {
            allocation: SlurmAllocation::new(folder.path().into()),
            _folder: folder,
        })
    }

    /// Waits until the allocation runs, and returns its number.
    fn wait_for_job(
        &mut self,
        settings: &Settings,
        events: &mut EventWriter,
    ) -> Result<String, LaunchError> {
        match self {
            StepPlace::Here(job) => Ok(job.clone()),
            StepPlace::Kept(allocation) | StepPlace::Own { allocation, .. } => {
                allocation.wait_for(&resource_flags(settings), events)
            }
        }
    }
}

impl Drop for StepPlace {
    fn drop(&mut self) {
        if let StepPlace::Own { allocation, .. } = self {
            allocation.release();
        }
    }
}

/// A line of `srun`.
enum ChildOutput {
    Out(Vec<u8>),
    Error(Vec<u8>),
}

/// One step.
struct SlurmStep<'a> {
    settings: &'a Settings,
    job: String,
    /// Unique in the job.
    name: String,
    /// The end of the error stream.
    errors: Vec<u8>,
    /// When the request to end was passed on.
    asked: Option<Instant>,
}

impl<'a> SlurmStep<'a> {
    fn new(settings: &'a Settings, job: String) -> Self {
        SlurmStep {
            settings,
            job,
            name: format!("tutor-{}", std::process::id()),
            errors: Vec::new(),
            asked: None,
        }
    }

    fn run(&mut self, argv: &[OsString], events: &mut EventWriter) -> Result<i32, LaunchError> {
        events.report_phase(&format!("starting in job {}", self.job), None);
        let mut child = start(&self.command(argv))?;
        let lines = spawn_readers(&mut child);
        loop {
            if events.is_stopped() {
                self.forward_stop(&child);
            }
            match lines.recv_timeout(TICK) {
                Ok(ChildOutput::Out(line)) => events.forward(&line),
                Ok(ChildOutput::Error(line)) => self.error_line(&line, events),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = child.wait().map_err(|_| LaunchError::Lost)?;
        match events.is_stopped() {
            true => Ok(exit_code(status)),
            false => self.explain_end(exit_code(status)),
        }
    }

    fn command(&self, argv: &[OsString]) -> Vec<OsString> {
        let mut command = vec![OsString::from("srun")];
        command.extend(ONE.map(OsString::from));
        command.extend(["--input=none", "--unbuffered"].map(OsString::from));
        command.push(format!("--jobid={}", self.job).into());
        command.push(format!("--job-name={}", self.name).into());
        if env::var_os(STEP).is_some() {
            // This process is a step itself and holds all resources of the allocation.
            command.push("--overlap".into());
        }
        if let Some(cpus) = self.settings.slurm.cpus {
            command.push(format!("--cpus-per-task={cpus}").into());
        }
        command.extend(wrap(self.settings));
        command.extend_from_slice(argv);
        command
    }

    fn error_line(&mut self, line: &[u8], events: &mut EventWriter) {
        if String::from_utf8_lossy(line).contains("step creation temporarily disabled") {
            events.report_phase("waiting for another step of this allocation to end", None);
        }
        // The supervisor of this process stores these lines. If it is gone, they are lost.
        drop(Stderr.write_all(line));
        self.errors.extend(line);
        let surplus = self.errors.len().saturating_sub(LAST_WORDS);
        self.errors.drain(..surplus);
    }

    /// First asks the run to end, then ends its step.
    fn forward_stop(&mut self, child: &Child) {
        match self.asked {
            None => {
                self.asked = Some(Instant::now());
                match queue::step(&self.job, &self.name) {
                    Ok(Some(step)) => queue::signal(&step, "TERM"),
                    // The step does not exist yet, so `srun` will not start it.
                    _ => signal_group(child.id(), SIGTERM),
                }
            }
            Some(asked) if asked.elapsed() > CANCEL_GRACE => signal_group(child.id(), SIGTERM),
            Some(_) => {}
        }
    }

    /// Returns the status of a run that ended by itself, otherwise the reason for its end.
    fn explain_end(&self, status: i32) -> Result<i32, LaunchError> {
        let all = String::from_utf8_lossy(&self.errors);
        // The program's own messages are not Slurm's.
        let is_slurms = |line: &&str| {
            ["srun:", "slurmstepd"]
                .iter()
                .any(|name| line.starts_with(name))
        };
        let messages: Vec<&str> = all.lines().filter(is_slurms).collect();
        let messages = messages.join("\n");
        let by_words = LaunchError::from_slurm_message(&messages);
        let has_run = messages.contains("task 0:");
        // `srun` also ends with 0 if it lost the node.
        if !matches!(by_words, LaunchError::Other(_)) {
            return Err(by_words);
        }
        if status == 0 || has_run && status <= 128 {
            return Ok(status);
        }
        match self.trouble_of_job()? {
            Some(trouble) => Err(trouble),
            None if has_run => Ok(status),
            None => Err(by_words),
        }
    }

    /// The reason that the job's state gives.
    fn trouble_of_job(&self) -> Result<Option<LaunchError>, LaunchError> {
        // When a job ends, Slurm takes some seconds to report how.
        for _ in 0..5 {
            match queue::job(&self.job)? {
                Some(job) if job.state == "COMPLETING" => thread::sleep(Duration::from_secs(1)),
                Some(job) => return Ok(LaunchError::of_state(&job.state)),
                None => return Ok(Some(LaunchError::Lost)),
            }
        }
        Ok(None)
    }
}

/// A shell's status for the end of a program.
fn exit_code(status: ExitStatus) -> i32 {
    let by_signal = status.signal().map(|signal| 128 + signal);
    status.code().or(by_signal).unwrap_or(1)
}

fn start(argv: &[OsString]) -> Result<Child, LaunchError> {
    let (program, arguments) = argv.split_first().ok_or(LaunchError::Lost)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        // On its machine, the run starts its own runs locally.
        .env(VARIABLE, "local")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // This process ends it in order, so Ctrl-C must not reach it directly.
        .process_group(0);
    die_with_parent(&mut command, SIGTERM);
    command
        .spawn()
        .map_err(|_| LaunchError::NotInstalled(program.to_string_lossy().into_owned()))
}

fn spawn_readers(child: &mut Child) -> Receiver<ChildOutput> {
    let (sender, lines) = channel();
    if let Some(stdout) = child.stdout.take() {
        read_lines(stdout, sender.clone(), ChildOutput::Out);
    }
    if let Some(stderr) = child.stderr.take() {
        read_lines(stderr, sender, ChildOutput::Error);
    }
    lines
}

fn read_lines(
    from: impl Read + Send + 'static,
    to: Sender<ChildOutput>,
    of: fn(Vec<u8>) -> ChildOutput,
) {
    thread::spawn(move || {
        each_line(from, |line| {
            line.is_ok_and(|line| to.send(of(line)).is_ok())
        });
    });
}
