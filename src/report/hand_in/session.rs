//! Checks a session's folder: its chain, and its runs' files against their seals.

use std::path::Path;

use super::document::{changed_stream, sha256};
use super::history::EarlierRecords;
use super::records;
use crate::{HandInError, HandInFindings, some_of};
use tinyllama_base::{plural, untrusted};
use tinyllama_lesson::Course;
use tinyllama_runs::{ENERGY, FinishedRun, FinishedRuns, RunExit};
use tinyllama_session::earlier::{StoredLog, logs};
use tinyllama_session::runs::events_file;
use tinyllama_session::{MOST_LOG_BYTES, RunEntry, Scan, SessionError, SessionState, chain};

/// Largest relative difference between a median and the same median from another build.
const ROUNDING: f64 = 1e-9;

/// Checks a session's folder. If `against` is given, its records have to begin that session.
///
/// # Errors
/// Fails if there is no session or its log cannot be read.
pub fn of_session(
    folder: &Path,
    kind: &'static str,
    against: Option<&Path>,
    course: &Course,
) -> Result<HandInFindings, HandInError> {
    let logs = logs(folder)?;
    let Some(StoredLog { scan, .. }) = logs.first().filter(|log| !log.scan.records.is_empty())
    else {
        return Err(SessionError::no_events(folder).into());
    };
    let runs = FinishedRuns::new(folder.join("runs"));
    let history = EarlierRecords::from_logs(&logs);
    let records = records::check(&logs[..history.logs], course, &runs);
    let state = SessionState::from_records(&scan.records);
    let unseen = history.unchecked();
    let mut problems = history.problems;
    problems.extend(records.problems.iter().cloned());
    let (mut unsealed, mut missing) = (Vec::new(), Vec::new());
    for (id, run) in &state.runs {
        let path = events_file(&folder.join("runs"), id);
        match (&run.sha256, path.is_file()) {
            (_, false) if run.exit == Some(RunExit::SUCCESS) => problems.push(no_stream(id)),
            (None, _) if run.is_unsealed() => {}
            (None, _) => unsealed.push(id.as_str()),
            (Some(_), false) => missing.push(id.as_str()),
            (Some(sealed), true) => problems.extend(changed(id, run, sealed, &path)),
        }
    }
    let named = |runs: &[&str], what: &str| {
        (!runs.is_empty())
            .then(|| format!("{} {what}: {}.", plural(runs.len(), "run"), some_of(runs)))
    };
    if let Some(other) = against
        && log_up_to(other, &scan.last_hash)?.is_none()
    {
        problems.push("Its last record is not one of the session's.".into());
    }
    let unchecked = [
        unseen,
        records.unchecked(course),
        named(&unsealed, "ended without a checksum"),
        named(&missing, "whose files are not there"),
    ];
    Ok(HandInFindings {
        kind,
        learner: Some(state.learner),
        records: scan.records.len(),
        last_hash: scan.last_hash.clone(),
        problems,
        unusual: records.unusual,
        unchecked: unchecked.into_iter().flatten().collect(),
        unseen_records: history.unseen,
        ..HandInFindings::default()
    })
}

/// Describes a contradiction between a run's seal, its file and its recorded figures.
fn changed(id: &str, run: &RunEntry, sealed: &str, path: &Path) -> Option<String> {
    match untrusted::read(path, MOST_LOG_BYTES) {
        Ok(bytes) if sha256(&bytes) == *sealed => {}
        Ok(_) => return Some(changed_stream(id)),
        Err(error) => {
            return Some(format!(
                "The event stream of run {id} cannot be read: {error}."
            ));
        }
    }
    let file = FinishedRun::read(path.parent()?).ok()?.figures();
    let differs = |(name, recorded): (&String, &f64)| {
        let of_file = file.get(name).filter(|_| !ENERGY.contains(&name.as_str()));
        of_file.is_some_and(|value| {
            (value - recorded).abs() > ROUNDING * recorded.abs().max(value.abs())
        })
    };
    let wrong: Vec<&str> = run
        .values
        .iter()
        .filter(|figure| differs(*figure))
        .map(|(name, _)| name.as_str())
        .collect();
    (!wrong.is_empty()).then(|| {
        format!(
            "The recorded figures of run {id} are not those of its event stream: {}.",
            some_of(&wrong)
        )
    })
}

pub(super) fn damage(scan: &Scan) -> Vec<String> {
    let lines = scan
        .damage
        .iter()
        .map(|damage| format!("Record in line {}: {}.", damage.line, damage.why));
    let torn = (scan.torn_bytes > 0).then(|| "Its last record is cut off.".to_string());
    lines.chain(torn).collect()
}

pub(super) fn no_stream(id: &str) -> String {
    format!("Run {id} ended well, and its event stream is not there.")
}

/// The log of a session up to the record with this hash, and the earlier logs, newest first. `None` if it has no such
/// record. If the log was compacted since, the old one is among the backups, chained to the log that replaced it.
pub(super) fn log_up_to(folder: &Path, hash: &str) -> Result<Option<Vec<StoredLog>>, HandInError> {
    let mut logs = logs(folder)?;
    let holding = EarlierRecords::from_logs(&logs).logs;
    let has = |log: &StoredLog| log.scan.hashes.iter().any(|known| known == hash);
    let Some(at) = logs[..holding].iter().position(has) else {
        return Ok(None);
    };
    let mut logs = logs.split_off(at);
    if let Some(bytes) = cut(&logs[0].bytes, hash) {
        logs[0] = StoredLog::parse(bytes.to_vec(), folder)?;
    }
    Ok(Some(logs))
}

fn cut<'a>(bytes: &'a [u8], hash: &str) -> Option<&'a [u8]> {
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if chain::decode(line).is_ok_and(|intact| intact.hash == hash) {
            return Some(&bytes[..end]);
        }
    }
    None
}
