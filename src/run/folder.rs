//! The files of a run: `runs/ID/` with `run.json`, `events.jsonl` and `stderr.log`.

use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

use super::reader::{Line, read_line};
use crate::train::event::{Body, Failure, Hello, Summary};

const RECORD: &str = "run.json";

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
    /// From power sampled beside the run; null where there was no sensor, or the run was too short for its pace.
    #[serde(default)]
    pub energy: Option<RunEnergy>,
}

/// Energy the whole device took while the measured steps ran, whatever else ran on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnergy {
    pub joules: f64,
    /// Half the width of its 95 % interval, errors of the sensor apart.
    pub uncertainty: f64,
    /// Samples of the power it rests on.
    pub power_samples: usize,
    /// Measured steps.
    pub steps: u64,
    /// Training samples in them.
    pub samples: u64,
    /// What the power was read from.
    pub source: String,
}

/// Joules for a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Joules {
    pub joules: f64,
    /// Half the width of the 95 % interval, errors of the sensor apart.
    pub uncertainty: f64,
}

impl fmt::Display for Joules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As many decimals as the error leaves a meaning.
        let decimals = match self.uncertainty.abs().max(self.joules.abs() / 1e3) {
            size if size >= 10.0 => 0,
            size if size >= 1.0 => 1,
            size if size >= 0.1 => 2,
            size if size >= 0.01 => 3,
            _ => 4,
        };
        write!(
            f,
            "{:.decimals$} J +/- {:.decimals$} J",
            self.joules, self.uncertainty
        )
    }
}

impl RunEnergy {
    /// Several runs as one; none without any. Their errors are independent.
    pub fn together<'a>(runs: impl IntoIterator<Item = &'a RunEnergy>) -> Option<RunEnergy> {
        let add = |all: RunEnergy, one: RunEnergy| RunEnergy {
            joules: all.joules + one.joules,
            uncertainty: all.uncertainty.hypot(one.uncertainty),
            power_samples: all.power_samples + one.power_samples,
            steps: all.steps + one.steps,
            samples: all.samples + one.samples,
            source: all.source,
        };
        runs.into_iter().cloned().reduce(add)
    }

    pub fn per_step(&self) -> Option<Joules> {
        self.per(self.steps)
    }

    pub fn per_sample(&self) -> Option<Joules> {
        self.per(self.samples)
    }

    fn per(&self, count: u64) -> Option<Joules> {
        let count = (count > 0).then_some(count as f64)?;
        Some(Joules {
            joules: self.joules / count,
            uncertainty: self.uncertainty / count,
        })
    }
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

    /// What `run.json` says in the folder of a run; none where there is no such file, or one of something else.
    pub fn read_record(path: &Path) -> Option<RunRecord> {
        let text = fs::read(path.join(RECORD)).ok()?;
        serde_json::from_slice(&text).ok()
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
            file.persist(self.path.join(RECORD))?;
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
    fn energy_of_runs_adds_up_and_its_errors_add_as_independent_ones() {
        let run = |joules, uncertainty| RunEnergy {
            joules,
            uncertainty,
            power_samples: 5,
            steps: 10,
            samples: 80,
            source: "test".into(),
        };
        let both = RunEnergy::together(&[run(100.0, 3.0), run(140.0, 4.0)]).unwrap();
        assert_eq!((both.joules, both.uncertainty), (240.0, 5.0));
        assert_eq!(both.per_step().unwrap().to_string(), "12.00 J +/- 0.25 J");
        assert_eq!(
            both.per_sample().unwrap().to_string(),
            "1.500 J +/- 0.031 J"
        );
        assert_eq!(RunEnergy::together([]), None);
        let none = RunEnergy {
            steps: 0,
            ..run(1.0, 1.0)
        };
        assert_eq!(none.per_step(), None);
    }

    #[test]
    fn a_root_that_is_a_file_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let message = format!("{:#}", RunFolder::create(file.path(), vec![]).unwrap_err());
        assert!(message.contains("cannot create"), "{message}");
    }
}
