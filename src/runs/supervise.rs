//! The one supervisor of runs. It starts them, reads their output, ends them, and stores their files.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::control::RunActivity;
use super::energy::EnergyMeter;
use super::folder::STDERR;
use crate::{
    Control, FinishedRun, Line, NotStarted, Player, RunExit, RunFolder, RunStart, each_line,
};
use tinyllama_base::{create_private_file, die_with_parent};
use tinyllama_contract::{Body, turns};
use tinyllama_profile::live::GpuStatus;

/// How long a child may take to end after it was asked to.
const KILL_GRACE: Duration = Duration::from_secs(10);
const SECOND: Duration = Duration::from_secs(1);
/// A silence is reported after this time, and after this many times the run's step time, whichever is longer.
const SILENCE_WARNING: Duration = Duration::from_secs(60);
const SILENT_STEPS: f64 = 20.0;
/// Lines of a child that are buffered for the observer. A child that prints faster has to wait.
const LINES_AHEAD: usize = 64;
/// The same for a child that must not wait.
const LINES_OF_A_RUN: usize = 1 << 16;
/// Lines of the error stream that are shown when a run fails.
const STDERR_LINES: usize = 20;
/// A shell's status for a program that was asked to end.
pub(super) const STOPPED: i32 = 128 + libc::SIGTERM;

/// A message about a run in progress.
#[derive(Debug)]
pub enum RunUpdate {
    /// The run has a folder.
    Started {
        run: String,
        command: Vec<String>,
    },
    Line(Line),
    /// Once a second.
    Clock {
        /// Seconds since the start of the run, or of the recorded run.
        seconds: f64,
        /// Seconds since the last line of a run that is silent for an unusually long time.
        silent: Option<f64>,
        /// State of this machine's GPUs during a run, and the source of the figures.
        gpus: Option<(Vec<GpuStatus>, &'static str)>,
        /// The last line that a child wrote to its error stream. Commands say there how far they are.
        said: Option<String>,
    },
}

/// A run that has ended.
#[derive(Debug)]
pub struct EndedRun {
    pub run: Arc<FinishedRun>,
    pub exit: RunExit,
    /// True if it was asked to end.
    pub stopped: bool,
    pub is_recording: bool,
    /// Last lines of its error stream.
    pub stderr: String,
}

/// Supervises a run from start to end on this thread and stores its files below `root`. The child leads its own process
/// group. It is asked to end if this thread or process is killed, and ended if an error is returned.
///
/// # Errors
/// Fails if the folder cannot be written, the program cannot be started or read, or `on_update` fails.
pub fn supervise(
    start: &RunStart,
    root: &Path,
    control: &Control,
    on_update: &mut dyn FnMut(RunUpdate) -> Result<()>,
) -> Result<EndedRun> {
    let create = || RunFolder::create(root, start.printable());
    let (mut folder, mut source): (_, Box<dyn LineSource>) = match start {
        RunStart::Command { argv, .. } => {
            let folder = create()?;
            let process = ChildProcess::start(argv, &folder, control, None)?;
            (folder, Box::new(process))
        }
        RunStart::InTurns(turn) => {
            let (folder, process) = turn.process(root, control)?;
            (folder, Box::new(process))
        }
        RunStart::Recording(tape) => (create()?, Box::new(Player::new(&tape.lines, control))),
    };
    let mut meter = match start {
        RunStart::Command { is_local, .. } => Some(EnergyMeter::start(*is_local)),
        // Runs that take turns share the device, so its power belongs to both.
        RunStart::InTurns(_) | RunStart::Recording(_) => None,
    };
    on_update(RunUpdate::Started {
        run: folder.run.id(),
        command: folder.command.clone(),
    })?;
    let mut tick = Instant::now() + SECOND;
    let (mut heard, mut step_ms) = (Instant::now(), 0.0);
    loop {
        match source.next_before(tick)? {
            NextLine::Line(bytes) => {
                let line = folder.append(&bytes)?;
                heard = Instant::now();
                if let (Line::Event(event), Some(meter)) = (&line, &mut meter) {
                    meter.on_event(event);
                    if let Body::Step(step) = &event.body {
                        step_ms = step.total_ms;
                    }
                }
                on_update(RunUpdate::Line(line))?;
            }
            NextLine::Nothing => {}
            NextLine::End => break,
        }
        if Instant::now() >= tick {
            let gpus = meter.as_ref().and_then(EnergyMeter::gpus);
            on_update(RunUpdate::Clock {
                seconds: source.seconds(),
                // A recording pauses when its run did, so its silence is not reported.
                silent: meter.as_ref().and(silent(heard.elapsed(), step_ms)),
                gpus,
                said: last_line_of_child(start, &folder),
            })?;
            tick = Instant::now() + SECOND;
        }
    }
    let exit = source.finish(&folder.run)?;
    tracing::debug!(run = folder.run.id(), %exit, "the run ended");
    let stderr = tail(&folder.stderr_path(), STDERR_LINES);
    let energy = meter.and_then(EnergyMeter::finish);
    Ok(EndedRun {
        run: Arc::new(folder.finish(&exit.to_string(), energy)?),
        exit,
        stopped: control.stopped().is_some(),
        is_recording: matches!(start, RunStart::Recording(_)),
        stderr,
    })
}

fn last_line_of_child(start: &RunStart, folder: &RunFolder) -> Option<String> {
    let is_child = matches!(start, RunStart::Command { .. });
    let line = is_child.then(|| tail(&folder.stderr_path(), 1))?;
    (!line.is_empty()).then_some(line)
}

/// Returns the seconds of silence if they are unusual for a run with steps of this length.
fn silent(quiet: Duration, step_ms: f64) -> Option<f64> {
    let seconds = quiet.as_secs_f64();
    let usual = SILENCE_WARNING
        .as_secs_f64()
        .max(SILENT_STEPS * step_ms / 1e3);
    (seconds >= usual).then_some(seconds)
}

/// The next item of a source.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextLine<T> {
    Line(T),
    /// No line yet.
    Nothing,
    End,
}

/// A source of output lines: a child or a recording.
trait LineSource {
    /// Waits until there is a line, but not longer than to `until`.
    fn next_before(&mut self, until: Instant) -> Result<NextLine<Vec<u8>>>;

    fn seconds(&self) -> f64;

    /// Waits for the end of the process that reported `run`.
    fn finish(&mut self, run: &FinishedRun) -> Result<RunExit>;
}

impl LineSource for Player<'_> {
    fn next_before(&mut self, until: Instant) -> Result<NextLine<Vec<u8>>> {
        Ok(match Player::next_before(self, until) {
            NextLine::Line(text) => NextLine::Line(text.as_bytes().to_vec()),
            NextLine::Nothing => NextLine::Nothing,
            NextLine::End => NextLine::End,
        })
    }

    fn seconds(&self) -> f64 {
        Player::seconds(self)
    }

    fn finish(&mut self, run: &FinishedRun) -> Result<RunExit> {
        Ok(RunExit::Status(match &run.reported.error {
            _ if !self.is_over() => STOPPED,
            Some(_) => 1,
            None => 0,
        }))
    }
}

/// A running child. Dropping it ends the child and everything it started.
#[derive(Debug)]
pub(super) struct ChildProcess {
    child: Child,
    activity: RunActivity,
    is_over: bool,
    lines: Receiver<std::io::Result<Vec<u8>>>,
    control: Control,
    begun: Instant,
    /// When to kill the child, once it was asked to end.
    deadline: Option<Instant>,
}

impl ChildProcess {
    /// Starts a child. `turn` says which turn it takes, and connects it to the other run.
    ///
    /// # Errors
    /// Fails if it cannot be started.
    pub(super) fn start(
        argv: &[OsString],
        folder: &RunFolder,
        control: &Control,
        turn: Option<(&str, UnixStream)>,
    ) -> Result<Self> {
        let (program, arguments) = argv
            .split_first()
            .ok_or_else(|| anyhow!("nothing to start"))?;
        let stderr = folder.stderr_path();
        let stderr = create_private_file(&stderr)
            .with_context(|| format!("cannot write {}", stderr.display()))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            // A separate process group, so that the child can be ended with everything it started.
            .process_group(0);
        let mut ahead = LINES_AHEAD;
        if let Some((turn, other)) = turn {
            command.env(turns::TURN, turn).stdin(OwnedFd::from(other));
            // A run that waits for its reader would also delay the other run.
            ahead = LINES_OF_A_RUN;
        }
        die_with_parent(&mut command, libc::SIGTERM);
        let mut child = command.spawn().map_err(NotStarted::from_program(program))?;
        let stdout = child.stdout.take();
        let (sender, lines) = sync_channel(ahead);
        let activity = RunActivity::Child {
            leader: child.id(),
            output: stdout.as_ref().and_then(pipe_of),
        };
        control.set_activity(Some(activity.clone()));
        let process = ChildProcess {
            child,
            activity,
            is_over: false,
            lines,
            control: control.clone(),
            begun: Instant::now(),
            deadline: None,
        };
        let stdout = stdout.ok_or_else(|| anyhow!("the child has no output"))?;
        thread::spawn(move || each_line(stdout, |line| sender.send(line).is_ok()));
        Ok(process)
    }

    /// Puts the child under another control.
    pub(super) fn with_control(mut self, control: &Control) -> Self {
        self.control = control.clone();
        self.control.set_activity(Some(self.activity.clone()));
        self
    }

    /// Kills the child if the request to end did not help in time.
    fn kill_if_overdue(&mut self) {
        if self.control.stopped().is_none() {
            return;
        }
        let now = Instant::now();
        if now >= *self.deadline.get_or_insert(now + KILL_GRACE) {
            self.control.kill();
            self.deadline = Some(now + KILL_GRACE);
        }
    }
}

impl LineSource for ChildProcess {
    fn next_before(&mut self, until: Instant) -> Result<NextLine<Vec<u8>>> {
        self.kill_if_overdue();
        let left = until.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => Ok(NextLine::Line(
                line.context("reading the run's output failed")?,
            )),
            Err(RecvTimeoutError::Timeout) => Ok(NextLine::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(NextLine::End),
        }
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn finish(&mut self, _: &FinishedRun) -> Result<RunExit> {
        let status = self.child.wait().context("waiting for the run failed")?;
        self.is_over = true;
        Ok(status.into())
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if !self.is_over {
            self.control.kill();
        }
        self.control.set_activity(None);
        if self.is_over {
            return;
        }
        // Waits so that no zombie process stays. A child that cannot be waited for is gone already.
        drop(self.child.wait());
    }
}

/// The name that the system gives the pipe of a child's output, at either end.
fn pipe_of(stdout: &ChildStdout) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", stdout.as_raw_fd())).ok()
}

/// The last lines that a stored run wrote to its error stream.
pub fn stderr_tail(folder: &Path) -> String {
    tail(&folder.join(STDERR), STDERR_LINES)
}

/// The last `count` lines of a file. Empty if it cannot be read.
fn tail(path: &Path, count: usize) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tape;
    use crate::folder::RunRecord;
    use crate::play::Speed;

    fn note(t: f64) -> (f64, String) {
        let line = format!(r#"{{"t":{t},"event":"note","message":"at {t}"}}"#);
        (t, line)
    }

    /// Plays a recording while `look` observes it. Returns the end and the number of stored lines.
    fn played(
        lines: Vec<(f64, String)>,
        control: &Control,
        mut look: impl FnMut(&RunUpdate),
    ) -> (EndedRun, usize) {
        let root = tempfile::tempdir().unwrap();
        let command = ["recordings", "play", "a"].map(str::to_owned).to_vec();
        let start = RunStart::Recording(Tape { command, lines });
        let ended = supervise(&start, root.path(), control, &mut |update| {
            look(&update);
            Ok(())
        });
        let ended = ended.unwrap();
        let record = RunRecord::read(&ended.run.path).unwrap();
        assert_eq!(record.exit, Some(ended.exit.to_string()));
        assert_eq!(record.command.last().map(String::as_str), Some("a"));
        let kept = std::fs::read_to_string(ended.run.path.join("events.jsonl")).unwrap();
        (ended, kept.lines().count())
    }

    #[test]
    fn a_minute_is_long_for_a_run_of_short_steps_and_not_for_one_of_long_ones() {
        let after = |seconds, step_ms| silent(Duration::from_secs(seconds), step_ms);
        assert_eq!((after(59, 20.0), after(60, 20.0)), (None, Some(60.0)));
        assert_eq!((after(99, 5e3), after(100, 5e3)), (None, Some(100.0)));
        assert_eq!(after(60, f64::NAN), Some(60.0), "a step without a time");
    }

    #[test]
    fn the_clock_brings_the_last_line_of_a_childs_error_stream() {
        let root = tempfile::tempdir().unwrap();
        let script = "echo 'run 1 of 2' >&2; echo 'run 2 of 2' >&2; exec sleep 600";
        let start = RunStart::Command {
            argv: ["sh", "-c", script].map(OsString::from).to_vec(),
            is_local: true,
        };
        let control = Control::default();
        let mut last = None;
        let ended = supervise(&start, root.path(), &control, &mut |update| {
            if let RunUpdate::Clock { said, .. } = update
                && said.as_deref() == Some("run 2 of 2")
            {
                last = said;
                control.stop(libc::SIGTERM);
            }
            Ok(())
        });
        assert!(ended.unwrap().stopped);
        assert_eq!(last.as_deref(), Some("run 2 of 2"));
    }

    /// The player skips an hour of recorded time at once when the speed changes.
    #[test]
    fn a_change_of_speed_takes_effect_while_a_line_is_waited_for() {
        let control = Control::default();
        let (ended, kept) = played(vec![note(0.0), note(3600.0)], &control, |update| {
            if matches!(update, RunUpdate::Line(_)) {
                let control = control.clone();
                thread::spawn(move || control.set_speed(Speed::END));
            }
        });
        assert!(ended.exit.is_success() && ended.is_recording && !ended.stopped);
        assert_eq!(kept, 2);
    }

    #[test]
    fn a_recording_that_is_stopped_keeps_what_was_played() {
        let control = Control::default();
        let (ended, kept) = played(vec![note(0.0), note(3600.0)], &control, |update| {
            if matches!(update, RunUpdate::Line(_)) {
                let control = control.clone();
                thread::spawn(move || control.stop(libc::SIGINT));
            }
        });
        assert_eq!(ended.exit, RunExit::Status(STOPPED));
        assert!(ended.stopped);
        assert_eq!(kept, 1);
    }

    #[test]
    fn the_recording_of_a_run_that_failed_ends_as_one() {
        let error = r#"{"t":1,"event":"error","code":"not-finite","message":"no","remedy":"none"}"#;
        let control = Control::default();
        control.set_speed(Speed::END);
        let (ended, _) = played(vec![note(0.0), (1.0, error.into())], &control, |_| {});
        assert_eq!(ended.exit, RunExit::Status(1));
        assert!(ended.run.reported.error.is_some() && !ended.stopped);
    }
}
