//! Lists every run stored with a session, started by the tutor or by a command, without reading its steps.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use rayon::prelude::*;
use serde::Serialize;
use time::OffsetDateTime;
use time::macros::format_description;

use crate::{SessionError, SessionState, StepRef};
use tinyllama_base::{file, inside, unix_time};
use tinyllama_lesson::Verdict;
use tinyllama_runs::{RunExit, RunRecord};

/// A one-line summary of a run.
#[derive(Clone, Debug, Serialize)]
pub struct StoredRun {
    /// Begins with its start time, in seconds since 1970.
    pub id: String,
    #[serde(serialize_with = "file::serialize_path")]
    pub path: PathBuf,
    pub command: Vec<String>,
    pub target: Option<String>,
    /// Hidden width, layers, batch and tokens.
    pub size: Option<[usize; 4]>,
    pub device: Option<String>,
    /// Seconds since 1970.
    pub started: u64,
    /// `None` while the run goes on, and if the process that stored it died with it.
    pub exit: Option<RunExit>,
    /// Median of the measured steps.
    pub step_ms: Option<f64>,
    /// The step of the course at which it was made.
    pub at: Option<StepRef>,
    /// Verdicts of that step's checks, if this is the step's newest run.
    pub verdicts: Vec<Verdict>,
    /// Place and time of the recording; `None` for a run of this machine.
    pub recording: Option<String>,
    /// True if the session's events mention it. The report and the checks need its files.
    pub in_session: bool,
}

impl StoredRun {
    fn read(path: PathBuf, state: &SessionState) -> Option<Self> {
        let id = path.file_name()?.to_str()?.to_owned();
        let record = RunRecord::read(&path)?;
        let known = state.runs.get(&id);
        let at = known.and_then(|run| run.at.clone());
        let step = at.as_ref().and_then(|at| state.step(&at.lesson, &at.step));
        let is_newest = |step: &&super::state::StepProgress| step.runs.last() == Some(&id);
        let verdicts = step.filter(is_newest).map(|step| &step.checks);
        let verdicts = verdicts.into_iter().flat_map(|checks| checks.values());
        let target = record.hello.as_ref().map(|hello| hello.target.clone());
        let exit = record.exit.and_then(|exit| exit.parse().ok());
        let total = record.summary.as_ref().and_then(|summary| summary.total_ms);
        Some(Self {
            target: target.or_else(|| known.map(|run| run.target.clone())),
            size: record.hello.as_ref().map(|hello| {
                let config = &hello.config;
                [
                    config.hidden,
                    config.layers,
                    config.batch_size,
                    config.sequence_length,
                ]
            }),
            device: record.hello.map(|hello| hello.device),
            command: record.command,
            started: record.started,
            exit: exit.or(known.and_then(|run| run.exit)),
            step_ms: total.map(|total| total.median),
            verdicts: verdicts.map(|check| check.verdict).collect(),
            recording: known.and_then(|run| run.recording.clone()),
            in_session: known.is_some(),
            at,
            path,
            id,
        })
    }

    /// A text such as `2026-11-22 17:42`, UTC.
    pub fn day(&self) -> String {
        let seconds = i64::try_from(self.started).unwrap_or(0);
        let time = OffsetDateTime::from_unix_timestamp(seconds);
        let time = time.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let time = time.format(format_description!("[year]-[month]-[day] [hour]:[minute]"));
        time.unwrap_or_default()
    }

    /// A text such as `256x4, 8x128`: width and layers, samples and tokens.
    pub fn size(&self) -> Option<String> {
        let [hidden, layers, batch, tokens] = self.size?;
        Some(format!("{hidden}x{layers}, {batch}x{tokens}"))
    }

    /// How it ended, in a word or two.
    pub fn ending(&self) -> String {
        match self.exit {
            Some(RunExit::SUCCESS) => "done".into(),
            Some(RunExit::Status(130 | 143)) => "stopped".into(),
            Some(RunExit::Status(code)) => format!("failed ({code})"),
            Some(exit @ RunExit::Signal(_)) => exit.to_string(),
            Some(RunExit::Lost) | None => "lost, or running".into(),
        }
    }

    /// A text such as `2 passed` or `1 of 2 passed`; `None` if no check was evaluated.
    pub fn judged(&self) -> Option<String> {
        let of = self.verdicts.len();
        let passed = self
            .verdicts
            .iter()
            .filter(|it| **it == Verdict::Passed)
            .count();
        match passed {
            _ if of == 0 => None,
            passed if passed == of => Some(format!("{passed} passed")),
            passed => Some(format!("{passed} of {of} passed")),
        }
    }
}

/// All runs in a folder, newest first. `state` tells which of them belong to the session.
///
/// # Errors
/// If the folder cannot be read. A missing folder holds no runs.
pub fn kept(runs: &Path, state: &SessionState) -> io::Result<Vec<StoredRun>> {
    let found = inside(runs)?.into_par_iter();
    let mut found: Vec<StoredRun> = found
        .filter_map(|path| StoredRun::read(path, state))
        .collect();
    found.sort_by(|a, b| b.id.cmp(&a.id));
    Ok(found)
}

/// A run without an ending may still be going on for this long.
const LONGEST_RUN: Duration = Duration::from_secs(24 * 3600);

/// Selects the runs that may be deleted, from a list sorted newest first. Keeps the `newest` ones, all that are not
/// `older` than this, the session's own, and all that may still be going on.
pub fn prunable(runs: Vec<StoredRun>, newest: usize, older: Duration) -> Vec<StoredRun> {
    let now = unix_time();
    let age = |run: &StoredRun| now.saturating_sub(Duration::from_secs(run.started));
    let others = runs.into_iter().filter(|run| !run.in_session);
    others
        .skip(newest)
        .filter(|run| age(run) > older)
        .filter(|run| run.exit.is_some() || age(run) > LONGEST_RUN)
        .collect()
}

/// Deletes a run with all its files.
///
/// # Errors
/// Fails with the file system's message and the path.
pub fn remove(run: &StoredRun) -> Result<(), SessionError> {
    fs::remove_dir_all(&run.path).map_err(SessionError::io("removing", &run.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Record, SessionEvent};
    use tinyllama_runs::RunFolder;

    #[test]
    fn runs_that_the_session_needs_are_never_pruned() {
        let root = tempfile::tempdir().unwrap();
        let made: Vec<String> = (0..5)
            .map(|_| {
                let folder = RunFolder::create(root.path(), vec!["run".into()]).unwrap();
                folder.finish("exit status: 0", None).unwrap().id()
            })
            .collect();
        let started = SessionEvent::RunStarted {
            run: made[0].clone(),
            at: Some(StepRef::new("first", "baseline")),
            target: "v1".into(),
            command: vec![],
            host: String::new(),
        };
        let record = Record {
            n: 1,
            time: String::new(),
            event: started,
        };
        let state = SessionState::from_records([&record]);
        let runs = kept(&root.path().join("runs"), &state).unwrap();
        let ids: Vec<&String> = runs.iter().map(|run| &run.id).collect();
        assert!(ids.is_sorted_by(|a, b| a >= b), "newest first: {ids:?}");
        assert_eq!(runs.len(), 5);
        let go = prunable(runs.clone(), 1, Duration::ZERO);
        assert!(go.iter().all(|run| run.id != made[0]), "{go:?}");
        assert!(
            prunable(runs, 0, Duration::from_secs(3600)).is_empty(),
            "too young"
        );
    }
}
