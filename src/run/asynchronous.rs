//! A run beside other work: the same child, awaited instead of waited for.

use std::os::unix::process::CommandExt;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use super::child::{Exited, RunCommand, cannot_start, prepare, signal_group};
use super::folder::RunFolder;
use super::reader::Line;

/// A running child whose lines are awaited. Dropping it ends the child with everything it started.
#[derive(Debug)]
pub struct AsyncRun {
    group: Group,
    child: Child,
    lines: BufReader<ChildStdout>,
    /// A line that has not come to its end.
    partial: Vec<u8>,
    folder: RunFolder,
}

/// Ends a process group when it is dropped before its leader was waited for.
#[derive(Debug)]
struct Group {
    leader: Option<u32>,
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            signal_group(leader, libc::SIGKILL);
        }
    }
}

impl AsyncRun {
    /// Starts `command` in a process group of its own, keeping its files under `root`. The child is told to end when this
    /// process is killed.
    ///
    /// # Errors
    /// When the folder cannot be written or the program cannot be started.
    pub fn start(command: &RunCommand, root: &Path) -> Result<Self> {
        let (mut command, folder) = prepare(command, root)?;
        // SAFETY: the closure only makes one system call, which is allowed between fork and exec.
        #[cfg(target_os = "linux")]
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        let program = command.get_program().to_owned();
        let mut child = Command::from(command)
            .spawn()
            .with_context(|| cannot_start(&program))?;
        let stdout = child
            .stdout
            .take()
            .ok_or_else(|| anyhow!("the child has no output"))?;
        Ok(AsyncRun {
            group: Group { leader: child.id() },
            child,
            lines: BufReader::new(stdout),
            partial: Vec::new(),
            folder,
        })
    }

    /// Process number of the child, which is also that of its group.
    pub fn leader(&self) -> Option<u32> {
        self.group.leader
    }

    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// The next line; `None` when the stream has ended. Nothing is lost when the future is dropped before it is ready.
    ///
    /// # Errors
    /// When the stream cannot be read or its copy cannot be kept.
    pub async fn next_line(&mut self) -> Result<Option<Line>> {
        self.lines
            .read_until(b'\n', &mut self.partial)
            .await
            .context("reading the run's output failed")?;
        if self.partial.is_empty() {
            return Ok(None);
        }
        let bytes = std::mem::take(&mut self.partial);
        self.folder.keep(&bytes).map(Some)
    }

    /// Waits for the end and completes the record.
    ///
    /// # Errors
    /// When waiting or writing `run.json` fails.
    pub async fn wait(mut self) -> Result<Exited> {
        let status = self
            .child
            .wait()
            .await
            .context("waiting for the run failed")?;
        self.group.leader = None;
        Exited::new(status, self.folder)
    }
}
