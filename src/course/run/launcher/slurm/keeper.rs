//! Keeps a session's allocation: a process beside the tutor that gives it back when the tutor ends, however it ends, and when
//! nothing ran for a while.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::allocation::Allocation;
use crate::run::Launcher;
use crate::run::launcher::near::end_signals;

const IDLE_MINUTES: u32 = 15;

/// The tutor's side.
#[derive(Debug)]
pub struct Keeper {
    /// Where runs find the allocation.
    pub folder: PathBuf,
    /// Its standard input is closed by the end of this process, and that is what it waits for.
    _process: Child,
}

impl Keeper {
    pub(in crate::run::launcher) fn start(launcher: &Launcher) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("tinyllama-slurm-")
            .tempdir()?;
        let idle = launcher.settings.slurm.idle_minutes.unwrap_or(IDLE_MINUTES);
        let process = Command::new(&launcher.program)
            .args(["launch", "keep"])
            .arg(folder.path())
            .arg(format!("--idle-minutes={idle}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is meant for others.
            .process_group(0)
            .spawn()?;
        Ok(Keeper {
            folder: folder.keep(),
            _process: process,
        })
    }
}

/// Keeps what is in `folder` until the standard input ends.
///
/// # Errors
/// When signals cannot be left aside.
pub fn keep(folder: &Path, idle_minutes: u32) -> Result<()> {
    // Left aside: a hang-up, or the end of a login, ends the tutor first, and with it this.
    end_signals()?;
    let (sender, end) = channel::<()>();
    thread::spawn(move || {
        // Nothing is ever written.
        drop(io::stdin().read_to_end(&mut Vec::new()));
        drop(sender);
    });
    let allocation = Allocation::new(folder.to_path_buf());
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
    allocation.release_all();
    // Its files are of use to nobody any more.
    drop(std::fs::remove_dir_all(folder));
    Ok(())
}
