//! A session's folder: its chain, and the files of its runs against their seals.

use std::path::{Path, PathBuf};

use super::document::{changed_stream, sha256};
use super::records;
use crate::base::{foreign, plural};
use crate::lesson::Course;
use crate::report::{Findings, HandInError, some_of};
use crate::run::{ENERGY, FinishedRun, FinishedRuns};
use crate::session::runs::events_file;
use crate::session::{
    Event, MOST_LOG_BYTES, Run, Scan, SessionError, State, chain, scan, scan_text,
};

/// Relative difference between a median and the same median computed by another build.
const ROUNDING: f64 = 1e-9;

/// Checks a session's folder, and that its records begin the session `against` where one is given.
///
/// # Errors
/// When there is no session or its log cannot be read.
pub fn of_session(
    folder: &Path,
    kind: &'static str,
    against: Option<&Path>,
    course: &Course,
) -> Result<Findings, HandInError> {
    let scan = scan(&events(folder))?.begun(folder)?;
    let runs = FinishedRuns::new(folder.join("runs"));
    let records = records::check(&scan, course, &runs);
    let state = State::of(&scan.records);
    let mut problems = damage(&scan);
    problems.extend(records.problems);
    let (mut unsealed, mut missing) = (Vec::new(), Vec::new());
    for (id, run) in &state.runs {
        let path = events_file(&folder.join("runs"), id);
        match (&run.sha256, path.is_file()) {
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
        named(&unsealed, "ended without a checksum"),
        named(&missing, "whose files are not there"),
    ];
    Ok(Findings {
        kind,
        learner: Some(state.learner),
        records: scan.records.len(),
        last_hash: scan.last_hash,
        problems,
        unusual: records.unusual,
        unchecked: unchecked.into_iter().flatten().collect(),
        not_compared: Vec::new(),
    })
}

/// What does not agree between a run's seal, its file and its recorded figures.
fn changed(id: &str, run: &Run, sealed: &str, path: &Path) -> Option<String> {
    match foreign::read(path, MOST_LOG_BYTES) {
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

fn events(folder: &Path) -> PathBuf {
    folder.join("events.jsonl")
}

/// The log of a session up to the record of this hash; none where it has no such record. A log that was compacted since
/// lies among the backups, chained to the one that took its place.
pub(super) fn log_up_to(folder: &Path, hash: &str) -> Result<Option<Vec<u8>>, HandInError> {
    let mut path = events(folder);
    let mut end: Option<String> = None;
    loop {
        let bytes = foreign::read(&path, MOST_LOG_BYTES);
        let bytes = bytes.map_err(SessionError::io("reading", &path))?;
        let scan = scan_text(&String::from_utf8_lossy(&bytes))?;
        if end.is_some_and(|end| end != scan.last_hash) {
            return Ok(None);
        }
        if scan.hashes.iter().any(|known| known == hash) {
            return Ok(cut(&bytes, hash).map(<[u8]>::to_vec));
        }
        let Some(Event::Compacted {
            previous_hash,
            previous_records,
            ..
        }) = scan.records.first().map(|record| &record.event)
        else {
            return Ok(None);
        };
        let earlier = folder.join(format!("backups/events-{previous_records}.jsonl"));
        // Each goes further back; one that leads to itself would go on for ever.
        if earlier == path || !earlier.is_file() {
            return Ok(None);
        }
        (path, end) = (earlier, Some(previous_hash.clone()));
    }
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
