//! Holds a session's allocation in a process next to the tutor. It gives the allocation back when the tutor ends in any
//! way, and when no run used it for a while.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::allocation::SlurmAllocation;
use super::events::end_signals;

const IDLE_MINUTES: u32 = 15;

/// The tutor's side of the keeper.
#[derive(Debug)]
pub struct Keeper {
    /// Folder in which runs find the allocation.
    pub folder: PathBuf,
    /// The end of this process closes the child's standard input. The child waits for that.
    _process: Child,
}

impl Keeper {
    /// Starts `program` as the keeper. It gives an unused allocation back after `idle_minutes`.
    pub(in crate::launcher) fn start(
        program: &Path,
        idle_minutes: Option<u32>,
    ) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("tinyllama-slurm-")
            .tempdir()?;
        let idle = idle_minutes.unwrap_or(IDLE_MINUTES);
        let process = Command::new(program)
            .args(["launch", "keep"])
            .arg(folder.path())
            .arg(format!("--idle-minutes={idle}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for other processes.
            .process_group(0)
            .spawn()?;
        Ok(Keeper {
            folder: folder.keep(),
            _process: process,
        })
    }
}

/// Holds the allocation in `folder` until standard input ends.
///
/// # Errors
/// Fails if signals cannot be ignored.
pub fn keep_allocation(folder: &Path, idle_minutes: u32) -> Result<()> {
    // Signals are ignored. A hang-up or the end of a login ends the tutor first, and that ends this process.
    end_signals()?;
    let (sender, end) = channel::<()>();
    thread::spawn(move || {
        // Nothing is ever written to standard input.
        drop(io::stdin().read_to_end(&mut Vec::new()));
        drop(sender);
    });
    let allocation = SlurmAllocation::new(folder.to_path_buf());
    let idle = Duration::from_secs(60 * u64::from(idle_minutes));
    let mut used = Instant::now();
    while end.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
        match allocation.unused() {
            None => used = Instant::now(),
            Some(_) if used.elapsed() < idle => {}
            Some(_nobody) => {
                allocation.release();
                used = Instant::now();
            }
        }
    }
    allocation.release();
    // Other processes no longer need its files.
    drop(std::fs::remove_dir_all(folder));
    Ok(())
}
