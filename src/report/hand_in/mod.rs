//! Checks that a hand-in is what the tutor writes. A hand-in is records and the streams of its runs: a session's folder, an
//! export of one, or a `session.json`. All are judged as a session's folder. The figures in a `session.json` are copies, and
//! nothing reads them.
//!
//! `docs/design/trust.md` says what this can show and what it cannot.

mod clock;
mod difference;
mod open;
mod orders;
mod rebuild;
mod redo;
mod stream;

use std::path::Path;

use serde::Serialize;
use thiserror::Error;

use super::document::FORMAT;
use tinyllama_lesson::Course;
use tinyllama_session::{Scan, SessionError, SessionState};

pub use open::{OpenHandIn, is_export};

/// What no check can show.
pub const STAYS_POSSIBLE: &str = "Somebody who builds a changed tutor, or computes a run's stream and every checksum anew, \
     can still make such a hand-in.";

#[derive(Debug, Error)]
pub enum HandInError {
    #[error("{file} cannot be read: {why}")]
    Unreadable { file: String, why: String },
    #[error("{file} is of format {found}; this program reads format {FORMAT}")]
    Format { file: String, found: u64 },
    #[error(transparent)]
    Session(#[from] SessionError),
}

fn unreadable(file: &Path, why: impl ToString) -> HandInError {
    HandInError::Unreadable {
        file: file.display().to_string(),
        why: why.to_string(),
    }
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HandInFindings {
    /// `report`, `export` or `session`.
    pub kind: &'static str,
    pub learner: Option<String>,
    pub records: usize,
    pub last_hash: String,
    /// Records and streams that the tutor does not write, one sentence each.
    pub problems: Vec<String>,
    /// Unusual but possible facts, each worth a question.
    pub unusual: Vec<String>,
    /// Work that could not be checked here, with reasons. It must not count as done.
    pub unchecked: Vec<String>,
    /// Facts that no check can show and on which no step depends.
    pub remarks: Vec<String>,
}

impl HandInFindings {
    /// Returns whether everything is what the tutor writes. `None` if nothing contradicts it, and a part was not checked.
    pub fn consistent(&self) -> Option<bool> {
        let is_known = !self.problems.is_empty() || self.unchecked.is_empty();
        is_known.then_some(self.problems.is_empty())
    }

    /// The verdict in sentences that claim no more than was checked.
    pub fn verdict(&self) -> String {
        match (self.consistent(), self.records) {
            (Some(false), _) => "The tutor does not write this.".into(),
            (None, 0) => "Nothing was checked.".into(),
            (None, _) => format!(
                "Nothing contradicts what was checked; the rest does not count. {STAYS_POSSIBLE}"
            ),
            (Some(true), _) => format!(
                "Nothing contradicts it: what the learner did gives every record again. {STAYS_POSSIBLE}"
            ),
        }
    }
}

/// What a hand-in is judged with.
#[derive(Clone, Copy, Default)]
pub struct Judging<'a> {
    /// The session that it is said to come from.
    pub against: Option<&'a OpenHandIn>,
    /// Checks the text of an exercise's kernel again. Without it, kernels that passed are not checked.
    pub kernels: Option<&'a KernelJudge<'a>>,
}

/// Takes an exercise and the text of a kernel, and returns what is wrong with it. The error says why it cannot be checked here.
pub type KernelJudge<'a> = dyn Fn(&str, &str) -> anyhow::Result<Vec<String>> + 'a;

/// Opens a hand-in and checks it. `against` is the session that it is said to come from.
///
/// # Errors
/// Fails if one of them cannot be read, or `against` is no session.
pub fn verify(
    file: &Path,
    against: Option<&Path>,
    kernels: Option<&KernelJudge>,
    course: &Course,
) -> Result<HandInFindings, HandInError> {
    let session = against.map(OpenHandIn::open).transpose()?;
    if let (Some(path), Some("report")) = (against, session.as_ref().map(|it| it.kind)) {
        let why = "it is not a session: give an export or a session's folder";
        return Err(unreadable(path, why));
    }
    let against = session.as_ref();
    judge(
        &OpenHandIn::open(file)?,
        Judging { against, kernels },
        course,
    )
}

/// Checks a hand-in.
///
/// # Errors
/// Fails if a log cannot be read.
pub fn judge(
    hand_in: &OpenHandIn,
    judging: Judging,
    course: &Course,
) -> Result<HandInFindings, HandInError> {
    if let Some(session) = judging.against {
        hand_in.complete(session)?;
    }
    let mut found = HandInFindings {
        kind: hand_in.kind,
        ..HandInFindings::default()
    };
    // An anonymous report has no records. The session it was made from has.
    let judged = match (&hand_in.anonymous, judging.against) {
        (None, _) => hand_in,
        (Some(_), Some(session)) => session,
        (Some(report), None) => {
            found.last_hash.clone_from(&report.chain.last_hash);
            found.unchecked.push(ANONYMOUS.into());
            return Ok(found);
        }
    };
    let scan = judged.scan()?;
    let anonymous = hand_in.anonymous.as_ref();
    let last_hash = anonymous.map_or(&scan.last_hash, |report| &report.chain.last_hash);
    let state = SessionState::from_records(&scan.records);
    found.learner = Some(state.learner).filter(|_| anonymous.is_none());
    found.records = scan.records.len();
    if let Some(session) = judging.against
        && !session.scan()?.hashes.contains(last_hash)
    {
        let what = "Its last record is not one of the session's.";
        found.problems.push(what.into());
    }
    found.last_hash.clone_from(last_hash);
    found.problems.extend(damage(&scan));
    found.unusual.extend(clock::remarks(&scan.records));
    if scan.damage.is_empty() {
        rebuild::rebuild(&scan.records, judged, judging, course, &mut found);
    }
    Ok(found)
}

const ANONYMOUS: &str = "Everything: the report is anonymous and carries no records. Name the session it was made from with --against to check that.";

fn damage(scan: &Scan) -> Vec<String> {
    let lines = scan
        .damage
        .iter()
        .map(|damage| format!("Record in line {}: {}.", damage.line, damage.why));
    let torn = (scan.torn_bytes > 0).then(|| "Its last record is cut off.".to_string());
    lines.chain(torn).collect()
}
