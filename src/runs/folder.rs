//! The files of a run: `runs/ID/` with `run.json`, `events.jsonl` and `stderr.log`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{EVENTS_FILE, FinishedRun, Line, RunEnergy, read_line};

use tinyllama_base::checksum::hex;
use tinyllama_base::file::create_unique;
use tinyllama_base::{create_private, create_private_file, replace, safe_path, unix_time};
use tinyllama_contract::{Failure, Hello, Summary};

const RECORD: &str = "run.json";
const MOST_RECORD_BYTES: u64 = 16 << 20;

/// File of the error stream in a run's folder.
pub const STDERR: &str = "stderr.log";

/// Folder of progress and runs: `$XDG_STATE_HOME/tinyllama-tutor`.
///
/// # Errors
/// Fails if neither XDG_STATE_HOME nor HOME is set.
pub fn state_folder() -> Result<PathBuf> {
    let strategy = etcetera::choose_base_strategy()
        .context("no home directory: set HOME or XDG_STATE_HOME")?;
    let state = strategy
        .state_dir()
        .context("this system has no folder for state")?;
    Ok(state.join("tinyllama-tutor"))
}

/// Creates `folder` and a file in it, then removes the file.
///
/// # Errors
/// Fails with the file system's message.
pub fn check_writable(folder: &Path) -> Result<()> {
    create_private(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    tempfile::NamedTempFile::new_in(folder)
        .with_context(|| format!("cannot write in {}", folder.display()))?;
    Ok(())
}

/// The content of `run.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunRecord {
    /// The command line, program first.
    pub command: Vec<String>,
    /// Seconds since 1970 at the start.
    pub started: u64,
    /// `exit status: 1`, `signal 9 (KILL)`. Null while the run lasts, or if the process that keeps its files died too.
    pub exit: Option<String>,
    pub hello: Option<Hello>,
    pub summary: Option<Summary>,
    pub error: Option<Failure>,
    /// From power that was sampled during the run. Null without a sensor, or if the run was too short for the sampling
    /// period.
    #[serde(default)]
    pub energy: Option<RunEnergy>,
}

impl RunRecord {
    /// Reads the record of the run in `folder`. Returns `None` if there is no such file, or if it holds something else.
    pub fn read(folder: &Path) -> Option<Self> {
        safe_path::read_json(&folder.join(RECORD), MOST_RECORD_BYTES).ok()
    }
}

/// A run's folder while it is written.
#[derive(Debug)]
pub struct RunFolder {
    events: File,
    digest: Sha256,
    pub command: Vec<String>,
    started: u64,
    /// Everything that the run has reported so far.
    pub run: FinishedRun,
}

impl RunFolder {
    /// Creates `runs/ID` under `root`. Ids sort by time and are unique.
    ///
    /// # Errors
    /// Fails with the file system's message and the path.
    pub fn create(root: &Path, command: Vec<String>) -> Result<Self> {
        let now = unix_time();
        let runs = root.join("runs");
        create_private(&runs).with_context(|| format!("cannot create {}", runs.display()))?;
        let prefix = format!("{:010}-{:03}-", now.as_secs(), now.subsec_millis());
        let path = create_unique(&runs, &prefix)
            .with_context(|| format!("cannot create a folder in {}", runs.display()))?;
        let events = path.join(EVENTS_FILE);
        let folder = RunFolder {
            events: create_private_file(&events)
                .with_context(|| format!("cannot write {}", events.display()))?,
            digest: Sha256::new(),
            command,
            started: now.as_secs(),
            run: FinishedRun {
                path,
                ..FinishedRun::default()
            },
        };
        folder.save(None)?;
        Ok(folder)
    }

    /// Path of the child's error stream.
    pub fn stderr_path(&self) -> PathBuf {
        self.run.path.join(STDERR)
    }

    /// Stores a line as the child printed it, parses it, and adds its figures to the run.
    ///
    /// # Errors
    /// Fails if the copy cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<Line> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let kept = format!("{text}\n");
        self.digest.update(&kept);
        self.events
            .write_all(kept.as_bytes())
            .with_context(|| format!("cannot write in {}", self.run.path.display()))?;
        let line = read_line(text);
        if let Line::Event(event) = &line {
            self.run.on_event(event);
        }
        Ok(line)
    }

    /// Completes the record of a run that has ended.
    ///
    /// # Errors
    /// Fails with the file system's message and the path.
    pub fn finish(mut self, exit: &str, energy: Option<RunEnergy>) -> Result<FinishedRun> {
        self.run.energy = energy;
        self.save(Some(exit.into()))?;
        self.run.sha256 = hex(self.digest);
        Ok(self.run)
    }

    /// Writes `run.json`, whole or not at all.
    fn save(&self, exit: Option<String>) -> Result<()> {
        let record = RunRecord {
            command: self.command.clone(),
            started: self.started,
            exit,
            hello: self.run.reported.hello.clone(),
            summary: self.run.reported.summary.clone(),
            error: self.run.reported.error.clone(),
            energy: self.run.energy.clone(),
        };
        let text = serde_json::to_vec_pretty(&record)?;
        replace(&self.run.path.join(RECORD), &text)
            .with_context(|| format!("cannot write run.json in {}", self.run.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_the_same_moment_get_folders_of_their_own() {
        let root = tempfile::tempdir().unwrap();
        let mut a = RunFolder::create(root.path(), vec!["run".into()]).unwrap();
        let b = RunFolder::create(root.path(), vec!["run".into()]).unwrap();
        assert_ne!(a.run.path, b.run.path);
        a.append(b"{}\r\n").unwrap();
        let run = a.finish("exit status: 0", None).unwrap();
        let record = RunRecord::read(&run.path).unwrap();
        assert_eq!(record.exit.as_deref(), Some("exit status: 0"));
        // Reading gives the same figures as following the run.
        let read = FinishedRun::read(&run.path).unwrap();
        assert_eq!(read.sha256, run.sha256);
    }

    #[test]
    fn a_root_that_is_a_file_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let message = format!("{:#}", RunFolder::create(file.path(), vec![]).unwrap_err());
        assert!(message.contains("cannot create"), "{message}");
    }
}
