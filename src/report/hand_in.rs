//! Whether a hand-in is what the tutor wrote: its records against their chain, its figures against its records.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::collect::progress;
use super::document::{FORMAT, Report, RunReport};
use super::words;
use crate::analysis::Metric;
use crate::base::file::hexadecimal;
use crate::base::statistics::Series;
use crate::lesson::{Course, Verdict};
use crate::session::event::RunExit;
use crate::session::runs::events_file;
use crate::session::{Place, Scan, SessionError, State, archive, scan, scan_text};

/// What checking a hand-in cannot show.
pub const NOT_PROVEN: &str = "This finds damage and careless edits. It does not prove who did the work, nor on which machine: whoever \
     rewrites all of the file can compute every checksum anew. Compare with the session in the class folder where it matters.";

/// Relative difference between a median and the same median computed again; rounding in JSON is far below it.
const ROUNDING: f64 = 1e-9;

#[derive(Debug, Error)]
pub enum HandInError {
    #[error("{file} cannot be read: {why}")]
    Unreadable { file: String, why: String },
    #[error("{file} is of format {found}; this program reads format {FORMAT}")]
    Format { file: String, found: u64 },
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// `report`, `export` or `session`.
    pub kind: &'static str,
    pub learner: Option<String>,
    pub records: usize,
    pub last_hash: String,
    /// What does not agree, in words. Nothing when the hand-in is intact.
    pub problems: Vec<String>,
    /// What could not be checked, and why.
    pub unchecked: Vec<String>,
}

impl Findings {
    pub fn is_intact(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Checks a report in JSON, an exported session, or a session's folder.
///
/// `against` is the session the report claims to be of, as an export or a folder.
///
/// # Errors
/// When a file is missing, or is no report and no session.
pub fn verify(
    file: &Path,
    against: Option<&Path>,
    course: &Course,
) -> Result<Findings, HandInError> {
    let mut findings = match kind(file)? {
        Kind::Folder => of_session(file, "session")?,
        Kind::Export => with_unpacked(file, |folder| of_session(folder, "export"))?,
        Kind::Report => of_report(&read_report(file)?, course),
    };
    if let Some(session) = against {
        let scan = match kind(session)? {
            Kind::Export => with_unpacked(session, |folder| Ok(scan(&events(folder))?))?,
            _ => scan(&events(session))?,
        };
        findings.problems.extend(not_of(&findings, &scan));
        findings.unchecked.retain(|text| text != ANONYMOUS);
    }
    Ok(findings)
}

const ANONYMOUS: &str = "The report is anonymous and carries no records. Name the session it was made from with --against to check it.";

enum Kind {
    Folder,
    Export,
    Report,
}

fn kind(file: &Path) -> Result<Kind, HandInError> {
    if file.is_dir() {
        return Ok(Kind::Folder);
    }
    let mut start = [0; 2];
    let read = File::open(file).and_then(|mut file| file.read(&mut start));
    match read {
        Ok(2) if start == [0x1f, 0x8b] => Ok(Kind::Export),
        Ok(_) => Ok(Kind::Report),
        Err(error) => Err(unreadable(file, error)),
    }
}

fn unreadable(file: &Path, why: impl ToString) -> HandInError {
    HandInError::Unreadable {
        file: file.display().to_string(),
        why: why.to_string(),
    }
}

/// Reads `session.json`.
///
/// # Errors
/// When it cannot be read, is no report, or is of another version.
pub fn read_report(file: &Path) -> Result<Report, HandInError> {
    let text = fs::read(file).map_err(|error| unreadable(file, error))?;
    let value: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| unreadable(file, error))?;
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(found) => {
            return Err(HandInError::Format {
                file: file.display().to_string(),
                found,
            });
        }
        None => {
            return Err(unreadable(
                file,
                "it is no session.json: it has no `format`",
            ));
        }
    }
    serde_json::from_value(value).map_err(|error| unreadable(file, error))
}

fn events(folder: &Path) -> std::path::PathBuf {
    folder.join("events.jsonl")
}

/// Unpacks an export, uses it and removes it again.
///
/// # Errors
/// When it cannot be unpacked, and those of `then`.
pub fn with_unpacked<T>(
    file: &Path,
    then: impl FnOnce(&Path) -> Result<T, HandInError>,
) -> Result<T, HandInError> {
    let folder = tempfile::tempdir().map_err(|error| unreadable(file, error))?;
    let place = Place {
        folder: folder.path().join("session"),
        learner: "unpacked".into(),
    };
    archive::import(file, &place)?;
    then(&place.folder)
}

/// Whether a file can be opened as a gzip stream; an export that was cut off fails only when it is unpacked.
pub fn is_export(file: &Path) -> bool {
    File::open(file).is_ok_and(|file| GzDecoder::new(file).header().is_some())
}

pub(super) fn of_session(folder: &Path, kind: &'static str) -> Result<Findings, HandInError> {
    let scan = scan(&events(folder))?;
    if scan.records.is_empty() {
        return Err(HandInError::Session(SessionError::NoSession {
            path: folder.to_path_buf(),
            why: "it has no events".into(),
        }));
    }
    let state = State::of(&scan.records);
    let mut problems = damage(&scan);
    let mut unchecked = Vec::new();
    for (id, run) in &state.runs {
        match &run.sha256 {
            None => unchecked.push(format!("Run {id} ended without a checksum.")),
            Some(sealed) => match fs::read(events_file(&folder.join("runs"), id)) {
                Ok(bytes) if sha256(&bytes) == *sealed => {}
                Ok(_) => problems.push(format!(
                    "The event stream of run {id} is not what it was when the run ended."
                )),
                Err(_) => unchecked.push(format!("The files of run {id} are not there.")),
            },
        }
    }
    Ok(Findings {
        kind,
        learner: Some(state.learner),
        records: scan.records.len(),
        last_hash: scan.last_hash,
        problems,
        unchecked,
    })
}

fn damage(scan: &Scan) -> Vec<String> {
    let lines = scan
        .damage
        .iter()
        .map(|damage| format!("Record in line {}: {}.", damage.line, damage.why));
    lines.collect()
}

/// As lower-case hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

pub(super) fn of_report(report: &Report, course: &Course) -> Findings {
    let mut findings = Findings {
        kind: "report",
        learner: report.learner.clone(),
        records: report.chain.records,
        last_hash: report.chain.last_hash.clone(),
        problems: Vec::new(),
        unchecked: Vec::new(),
    };
    let Some(lines) = &report.chain.lines else {
        findings.unchecked.push(ANONYMOUS.into());
        return findings;
    };
    let scan = match scan_text(&lines.join("\n")) {
        Ok(scan) => scan,
        Err(error) => {
            findings.problems.push(error.to_string());
            return findings;
        }
    };
    findings.problems.extend(damage(&scan));
    if scan.torn_bytes > 0 {
        findings.problems.push("Its last record is cut off.".into());
    }
    if scan.last_hash != report.chain.last_hash {
        findings
            .problems
            .push("The hash it quotes is not that of its last record.".into());
    }
    if scan.records.len() != report.chain.records {
        findings.problems.push(format!(
            "It speaks of {} records and holds {}.",
            report.chain.records,
            scan.records.len()
        ));
    }
    let state = State::of(&scan.records);
    findings
        .problems
        .extend(differences(report, &state, course));
    let unsealed = report
        .runs
        .iter()
        .filter(|run| run.samples.total_ms.is_empty())
        .count();
    if unsealed > 0 {
        findings.unchecked.push(format!(
            "{} without samples.",
            words::plural(unsealed, "run")
        ));
    }
    findings
}

/// Where a report says something else than its own records.
fn differences(report: &Report, state: &State, course: &Course) -> Vec<String> {
    let mut found = Vec::new();
    if report.learner.as_ref() != Some(&state.learner) {
        found.push("The learner is not the one of its records.".into());
    }
    compare_lessons(report, state, course, &mut found);
    for guess in &report.predictions {
        let recorded = state
            .step(&guess.lesson, &guess.step)
            .and_then(|step| step.prediction);
        if recorded != Some(guess.predicted) {
            found.push(format!(
                "The prediction of {}/{} is not the recorded one.",
                guess.lesson, guess.step
            ));
        }
    }
    let runs: BTreeMap<&str, &RunReport> = report
        .runs
        .iter()
        .map(|run| (run.id.as_str(), run))
        .collect();
    for (id, recorded) in &state.runs {
        match runs.get(id.as_str()) {
            None => found.push(format!("Run {id} was recorded and is left out.")),
            Some(run) => compare_run(run, recorded, &mut found),
        }
    }
    for id in runs.keys().filter(|id| !state.runs.contains_key(**id)) {
        found.push(format!("Run {id} is not among its records."));
    }
    found
}

fn compare_lessons(report: &Report, state: &State, course: &Course, found: &mut Vec<String>) {
    let recorded = progress(state, course);
    for lesson in &report.lessons {
        let Some(recorded) = recorded.iter().find(|other| other.id == lesson.id) else {
            found.push(format!("Lesson {} is not among its records.", lesson.id));
            continue;
        };
        for step in &lesson.steps {
            let same = recorded.steps.iter().find(|other| other.id == step.id).is_some_and(|other| {
                let verdicts = |step: &super::document::StepReport| -> Vec<(String, Verdict, Option<f64>, u32)> {
                    let of = |check: &super::document::CheckReport| {
                        (check.id.clone(), check.verdict, check.value, check.missed)
                    };
                    step.checks.iter().map(of).collect()
                };
                let answers = |step: &super::document::StepReport| -> Vec<(f64, bool)> {
                    step.answers.iter().map(|given| (given.answer, given.correct)).collect()
                };
                step.status == other.status
                    && step.attempts == other.attempts
                    && step.hints == other.hints
                    && step.minutes == other.minutes
                    && step.reflection == other.reflection
                    && step.runs == other.runs
                    && answers(step) == answers(other)
                    && verdicts(step) == verdicts(other)
            });
            if !same {
                found.push(format!(
                    "Step {}/{} is not as it was recorded.",
                    lesson.id, step.id
                ));
            }
        }
    }
    for lesson in recorded
        .iter()
        .filter(|lesson| !report.lessons.iter().any(|other| other.id == lesson.id))
    {
        found.push(format!(
            "Lesson {} was recorded and is left out.",
            lesson.id
        ));
    }
}

fn compare_run(run: &RunReport, recorded: &crate::session::state::Run, found: &mut Vec<String>) {
    let id = &run.id;
    if run.figures != recorded.values {
        found.push(format!(
            "The figures of run {id} are not the recorded ones."
        ));
    }
    if run.target != recorded.target || run.exit != words::exit(recorded.exit.as_ref()) {
        found.push(format!(
            "Target or exit status of run {id} are not the recorded ones."
        ));
    }
    if run.complete != (recorded.exit == Some(RunExit::Status(0)))
        || run.recording != recorded.recording
    {
        found.push(format!("Run {id} is not what it was recorded as."));
    }
    let samples = [
        (Metric::TotalMs, &run.samples.total_ms),
        (Metric::ForwardMs, &run.samples.forward_ms),
        (Metric::BackwardMs, &run.samples.backward_ms),
        (Metric::OptimizerMs, &run.samples.optimizer_ms),
    ];
    for (metric, samples) in samples {
        let (Some(recorded), false) = (recorded.values.get(metric.name()), samples.is_empty())
        else {
            continue;
        };
        let median = Series::new(samples.clone()).map(|series| series.median());
        let same = median.is_ok_and(|median| ((median - recorded) / recorded).abs() <= ROUNDING);
        if !same {
            found.push(format!(
                "The samples of {metric} of run {id} do not have the recorded median."
            ));
        }
    }
}

/// Whether a hand-in's last record is one of the session's.
fn not_of(findings: &Findings, session: &Scan) -> Option<String> {
    let known = session.hashes.contains(&findings.last_hash);
    (!known).then(|| "Its last record is not one of the session's.".into())
}
