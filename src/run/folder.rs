//! The files of a run: `runs/ID/` with `run.json`, `events.jsonl` and `stderr.log`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

use super::reader::{Line, read_line};
use crate::train::event::{Body, Failure, Hello, Summary};

/// Where progress and runs are kept: `$XDG_STATE_HOME/tinyllama-tutor`.
///
/// # Errors
/// When there is neither XDG_STATE_HOME nor HOME.
pub fn state_folder() -> Result<PathBuf> {
    let strategy = etcetera::choose_base_strategy()
        .context("no home directory: set HOME or XDG_STATE_HOME")?;
    let state = strategy
        .state_dir()
        .context("this system has no folder for state")?;
    Ok(state.join("tinyllama-tutor"))
}

/// Creates `folder` and a file in it, and removes the file again.
///
/// # Errors
/// What the file system says.
pub fn check_writable(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    tempfile::NamedTempFile::new_in(folder)
        .with_context(|| format!("cannot write in {}", folder.display()))?;
    Ok(())
}

/// What `run.json` says of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunRecord {
    /// The command line, program first.
    pub command: Vec<String>,
    /// Seconds since 1970 at the start.
    pub started: u64,
    /// Exit status, `signal 9` for a killed one; null while it runs or when the keeper died with it.
    pub exit: Option<String>,
    pub hello: Option<Hello>,
    pub summary: Option<Summary>,
    pub error: Option<Failure>,
}

/// A run's folder, being written.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    events: File,
    pub record: RunRecord,
}

impl RunFolder {
    /// Makes `runs/ID` under `root`; ids sort by time and never collide.
    ///
    /// # Errors
    /// What the file system says, with the path.
    pub fn create(root: &Path, command: Vec<String>) -> Result<Self> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let runs = root.join("runs");
        fs::create_dir_all(&runs).with_context(|| format!("cannot create {}", runs.display()))?;
        let prefix = format!("{:010}-{:03}-", now.as_secs(), now.subsec_millis());
        let path = tempfile::Builder::new()
            .prefix(&prefix)
            .rand_bytes(4)
            .tempdir_in(&runs)
            .with_context(|| format!("cannot create a folder in {}", runs.display()))?
            .keep();
        let events = path.join("events.jsonl");
        let folder = RunFolder {
            events: File::create(&events)
                .with_context(|| format!("cannot write {}", events.display()))?,
            path,
            record: RunRecord {
                command,
                started: now.as_secs(),
                ..RunRecord::default()
            },
        };
        folder.save()?;
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the child's error stream goes.
    pub fn stderr_path(&self) -> PathBuf {
        self.path.join("stderr.log")
    }

    /// Keeps a line of the event stream as it came.
    ///
    /// # Errors
    /// What the file system says, with the path.
    pub fn keep_line(&mut self, line: &str) -> Result<()> {
        writeln!(self.events, "{line}")
            .with_context(|| format!("cannot write in {}", self.path.display()))
    }

    /// Keeps a line as the child printed it, notes in the record what it says of the run, and understands it.
    ///
    /// # Errors
    /// When the copy cannot be kept.
    pub fn keep(&mut self, bytes: &[u8]) -> Result<Line> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        self.keep_line(text)?;
        let line = read_line(text);
        if let Line::Event(event) = &line {
            match &event.body {
                Body::Hello(hello) => self.record.hello = Some((**hello).clone()),
                Body::Summary(summary) => self.record.summary = Some((**summary).clone()),
                Body::Error(failure) => self.record.error = Some(failure.clone()),
                _ => {}
            }
        }
        Ok(line)
    }

    /// The run's id: the name of its folder.
    pub fn id(&self) -> String {
        self.path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// Writes `run.json`, whole or not at all.
    ///
    /// # Errors
    /// What the file system says, with the path.
    pub fn save(&self) -> Result<()> {
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
            serde_json::to_writer_pretty(&mut file, &self.record)?;
            file.as_file().sync_all()?;
            file.persist(self.path.join("run.json"))?;
            Ok(())
        };
        write().with_context(|| format!("cannot write run.json in {}", self.path.display()))
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
        assert_ne!(a.path(), b.path());
        a.keep_line("{}").unwrap();
        a.record.exit = Some("exit status: 0".into());
        a.save().unwrap();
        let text = fs::read_to_string(a.path().join("run.json")).unwrap();
        let record: RunRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(record.exit.as_deref(), Some("exit status: 0"));
    }

    #[test]
    fn a_root_that_is_a_file_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let message = format!("{:#}", RunFolder::create(file.path(), vec![]).unwrap_err());
        assert!(message.contains("cannot create"), "{message}");
    }
}
