//! A training run as a child process.
//!
//! The parent never touches a GPU: fusion is a setting of the whole process, a driver's crash ends only the child, and a
//! profiler or a scheduler's launcher can be put in front of it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, anyhow};

use super::folder::{RunEnergy, RunFolder};
use super::reader::Line;

/// What to start: launcher, program, `run`, target and flags.
#[derive(Clone, Debug)]
pub struct RunCommand {
    /// Words before the program, such as `srun --gres=gpu:1` or a profiler with its `--`.
    pub launcher: Vec<OsString>,
    /// The tutor's binary.
    pub program: PathBuf,
    pub target: String,
    pub flags: Vec<OsString>,
}

impl RunCommand {
    /// `target` with `flags`, by this very program and without a launcher.
    ///
    /// # Errors
    /// When the path of this program cannot be found out.
    pub fn local(target: String, flags: Vec<OsString>) -> Result<Self> {
        Ok(RunCommand {
            launcher: vec![],
            program: std::env::current_exe().context("cannot find this program's own path")?,
            target,
            flags,
        })
    }

    /// The whole command line.
    pub fn words(&self) -> Vec<OsString> {
        let mut words = self.launcher.clone();
        words.push(self.program.clone().into());
        words.extend(["run".into(), self.target.clone().into(), "--events".into()]);
        words.extend(self.flags.iter().cloned());
        words
    }
}

/// A running child, its lines read one by one and kept in its folder.
#[derive(Debug)]
pub struct RunChild {
    process: Process,
    lines: BufReader<ChildStdout>,
    folder: RunFolder,
}

/// Ends the child and everything it started when it is dropped before it was waited for.
#[derive(Debug)]
struct Process {
    child: Child,
    waited_for: bool,
}

impl Process {
    fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.waited_for = true;
        Ok(status)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.waited_for {
            return;
        }
        signal_group(self.child.id(), libc::SIGKILL);
        // Collected so that no zombie stays; there is no one to tell of an error.
        drop(self.child.wait());
    }
}

/// Sends `signal` to a child that leads its own group, and to everything it started.
pub fn signal_group(leader: u32, signal: i32) {
    if let Ok(group) = i32::try_from(leader) {
        // SAFETY: kill takes two numbers; the group is the child's own, made when it was started.
        unsafe { libc::kill(-group, signal) };
    }
}

/// How a child ended.
#[derive(Debug)]
pub struct Exited {
    pub status: ExitStatus,
    pub folder: RunFolder,
    /// Last lines of its error stream.
    pub stderr: String,
}

impl RunChild {
    /// Starts `command` in a process group of its own, keeping its files under `root`.
    ///
    /// # Errors
    /// When the folder cannot be written or the program cannot be started.
    pub fn start(command: &RunCommand, root: &Path) -> Result<Self> {
        let (mut command, folder) = prepare(command, root)?;
        let mut child = command
            .spawn()
            .with_context(|| cannot_start(command.get_program()))?;
        let stdout = child
            .stdout
            .take()
            .ok_or_else(|| anyhow!("the child has no output"))?;
        Ok(RunChild {
            process: Process {
                child,
                waited_for: false,
            },
            lines: BufReader::new(stdout),
            folder,
        })
    }

    /// Process number of the child, which is also that of its group.
    pub fn id(&self) -> u32 {
        self.process.child.id()
    }

    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// The next line; `None` when the stream has ended.
    ///
    /// # Errors
    /// When the stream cannot be read or its copy cannot be kept.
    pub fn next_line(&mut self) -> Result<Option<Line>> {
        let mut bytes = Vec::new();
        let count = self
            .lines
            .read_until(b'\n', &mut bytes)
            .context("reading the run's output failed")?;
        if count == 0 {
            return Ok(None);
        }
        self.folder.keep(&bytes).map(Some)
    }

    /// Waits for the end and completes the record.
    ///
    /// # Errors
    /// When waiting or writing `run.json` fails.
    pub fn wait(mut self) -> Result<Exited> {
        while self.next_line()?.is_some() {}
        let RunChild {
            mut process,
            folder,
            ..
        } = self;
        let status = process.wait().context("waiting for the run failed")?;
        Exited::new(status, folder)
    }
}

impl Exited {
    /// Completes the record of a run that ended.
    pub(super) fn new(status: ExitStatus, mut folder: RunFolder) -> Result<Self> {
        folder.record.exit = Some(status.to_string());
        folder.save()?;
        let stderr = tail(&folder.stderr_path(), STDERR_LINES);
        Ok(Exited {
            status,
            folder,
            stderr,
        })
    }

    /// Adds to the record what the run took, where that was measured.
    ///
    /// # Errors
    /// When writing `run.json` fails.
    pub fn note_energy(&mut self, energy: Option<RunEnergy>) -> Result<()> {
        if energy.is_none() {
            return Ok(());
        }
        self.folder.record.energy = energy;
        self.folder.save()
    }
}

/// The command, ready to be started in a process group of its own, and the folder its files are kept in below `root`.
pub(super) fn prepare(command: &RunCommand, root: &Path) -> Result<(Command, RunFolder)> {
    let words = command.words();
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| anyhow!("nothing to start"))?;
    let printable = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let folder = RunFolder::create(root, printable)?;
    let stderr = folder.stderr_path();
    let stderr =
        File::create(&stderr).with_context(|| format!("cannot write {}", stderr.display()))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr)
        // A group of its own, so that it can be ended with everything it started.
        .process_group(0);
    Ok((command, folder))
}

pub(super) fn cannot_start(program: &OsStr) -> String {
    format!("cannot start {}", program.to_string_lossy())
}

/// Lines of the error stream that are shown when a run fails.
const STDERR_LINES: usize = 20;

/// The last `count` lines of a file; empty when it cannot be read.
fn tail(path: &Path, count: usize) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
