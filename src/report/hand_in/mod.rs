//! Checks that a hand-in is what the tutor wrote. Records are compared with their chain and with what is possible, and the
//! runs' files with their seals. Then the whole document is compared with the one that records and files give again.
//!
//! `docs/design/trust.md` says what this can show and what it cannot.

mod difference;
mod document;
mod history;
mod records;
mod session;

use std::path::Path;

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::document::FORMAT;
use crate::Report;
use tinyllama_base::untrusted;
use tinyllama_lesson::Course;
use tinyllama_session::{SessionError, SessionLocation, archive};

pub use document::{VerifiedHandIn, of_report};
pub use session::of_session;

/// The limits of checking a hand-in.
pub const NOT_PROVEN: &str = "This finds damage and careless edits. It does not prove who did the work, nor \
     on which machine, nor that nothing was cut off at the end: anyone who rewrites the whole file can \
     recompute every checksum. If it matters, compare with the session in the class folder.";

/// A larger file is not a hand-in.
const MOST_BYTES: u64 = untrusted::MOST_BYTES;

/// More values would take gigabytes of memory. A long course has some hundred thousand.
const MOST_VALUES: usize = 4_000_000;

#[derive(Debug, Error)]
pub enum HandInError {
    #[error("{file} cannot be read: {why}")]
    Unreadable { file: String, why: String },
    #[error("{file} is of format {found}; this program reads format {FORMAT}")]
    Format { file: String, found: u64 },
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HandInFindings {
    /// `report`, `export` or `session`.
    pub kind: &'static str,
    pub learner: Option<String>,
    pub records: usize,
    pub last_hash: String,
    /// Contradictions, as text. Empty if the hand-in is intact.
    pub problems: Vec<String>,
    /// Unusual but possible facts, each worth a question.
    pub unusual: Vec<String>,
    /// Parts of this hand-in that could not be checked, with reasons.
    pub unchecked: Vec<String>,
    /// Facts that no hand-in of this kind can show.
    pub never_checked: Vec<String>,
    /// Number of missing records before its log. The work until then is not checked.
    pub unseen_records: u64,
    /// The same as paths of the document. `*` stands for any name or number, and a path includes everything below it.
    pub not_compared: Vec<String>,
}

impl HandInFindings {
    /// Returns whether all checked parts agree. If [`HandInFindings::is_unchecked`], nothing was checked.
    pub fn is_intact(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns whether it is what the tutor wrote. `None` if its sources were missing.
    pub fn intact(&self) -> Option<bool> {
        let is_known = !self.is_unchecked() && self.unseen_records == 0;
        (!self.is_intact() || is_known).then(|| self.is_intact())
    }

    /// Returns whether there was nothing to compare the hand-in with.
    pub fn is_unchecked(&self) -> bool {
        self.not_compared.iter().any(|path| path == "*")
    }

    /// The verdict as a sentence that claims no more than was checked.
    pub fn verdict(&self) -> &'static str {
        match (self.is_intact(), self.is_unchecked(), self.kind) {
            (false, ..) => "Not intact.",
            (true, true, _) => "Nothing was checked.",
            (true, false, _) if self.unseen_records > 0 => {
                "Intact from its compaction on; what was done before was not checked."
            }
            (true, false, "report") => {
                "Intact as far as this was checked: the records form a complete chain, and what the document says follows from them."
            }
            (true, false, _) => {
                "Intact as far as this was checked: the records form a complete chain, and the runs' files are what they were."
            }
        }
    }
}

/// Checks a report in JSON, an exported session, or a session's folder.
///
/// `against` is the session that the report is said to come from, as an export or a folder.
///
/// # Errors
/// Fails if a file is missing, or is neither a report nor a session.
pub fn verify(
    file: &Path,
    against: Option<&Path>,
    course: &Course,
) -> Result<HandInFindings, HandInError> {
    let check = |session: Option<&Path>| match kind(file)? {
        HandInKind::Folder => of_session(file, "session", session, course),
        HandInKind::Export => {
            with_unpacked(file, |folder| of_session(folder, "export", session, course))
        }
        HandInKind::Report => Ok(of_report(&read_report(file)?, session, course)?.findings),
    };
    match against {
        None => check(None),
        Some(session) => match kind(session)? {
            HandInKind::Export => with_unpacked(session, |folder| check(Some(folder))),
            HandInKind::Folder => check(Some(session)),
            HandInKind::Report => Err(unreadable(
                session,
                "it is not a session: give an export or a session's folder",
            )),
        },
    }
}

enum HandInKind {
    Folder,
    Export,
    Report,
}

fn kind(file: &Path) -> Result<HandInKind, HandInError> {
    if file.is_dir() {
        return Ok(HandInKind::Folder);
    }
    untrusted::open(file).map_err(|error| unreadable(file, error))?;
    match is_export(file) {
        true => Ok(HandInKind::Export),
        false => Ok(HandInKind::Report),
    }
}

fn unreadable(file: &Path, why: impl ToString) -> HandInError {
    HandInError::Unreadable {
        file: file.display().to_string(),
        why: why.to_string(),
    }
}

/// A report from a hand-in.
#[derive(Clone, Debug)]
pub struct HandInDocument {
    pub report: Report,
    /// The same with all its fields, known or not.
    value: serde_json::Value,
}

/// Reads `session.json`.
///
/// # Errors
/// Fails if it cannot be read, is not a report, or has another version.
pub fn read_report(file: &Path) -> Result<HandInDocument, HandInError> {
    let bytes = untrusted::read(file, MOST_BYTES).map_err(|error| unreadable(file, error))?;
    if values(&bytes) > MOST_VALUES {
        let why = format!("it has more than the {MOST_VALUES} values that are read of a report");
        return Err(unreadable(file, why));
    }
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| unreadable(file, error))?;
    drop(bytes);
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
                "it is not a session.json: it has no `format`",
            ));
        }
    }
    match Report::deserialize(&value) {
        Ok(report) => Ok(HandInDocument { report, value }),
        Err(error) => Err(unreadable(file, error)),
    }
}

/// Estimates the number of values in a JSON text. Memory depends on that number, not on the length.
fn values(json: &[u8]) -> usize {
    let (mut values, mut at) = (1, 0);
    while let Some(found) = json
        .get(at..)
        .and_then(|rest| memchr::memchr3(b'"', b',', b'[', rest))
    {
        at += found + 1;
        match json[at - 1] {
            b'"' => at = end_of_string(json, at),
            _ => values += 1,
        }
    }
    values
}

/// Index after the string that began before `at`.
fn end_of_string(json: &[u8], mut at: usize) -> usize {
    while let Some(found) = json
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        at += found + 1;
        match json[at - 1] {
            b'"' => return at,
            // A character after a backslash does not end the string.
            _ => at += 1,
        }
    }
    json.len()
}

/// Unpacks an export, passes it to `then` and deletes it.
///
/// # Errors
/// Fails if the export cannot be unpacked, or if `then` fails.
pub fn with_unpacked<T>(
    file: &Path,
    then: impl FnOnce(&Path) -> Result<T, HandInError>,
) -> Result<T, HandInError> {
    let folder = tempfile::tempdir().map_err(|error| unreadable(file, error))?;
    let location = SessionLocation {
        folder: folder.path().join("session"),
        learner: "unpacked".into(),
    };
    archive::import(file, &location)?;
    then(&location.folder)
}

/// Returns whether a file is a gzip stream. A truncated export fails only when it is unpacked.
pub fn is_export(file: &Path) -> bool {
    untrusted::open(file).is_ok_and(|file| GzDecoder::new(file).header().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (json, count) in [
            ("{}", 1),
            (r#"{"a": [1, 2, 3], "b": {"c": 1}}"#, 5),
            (r#"["a,,[[,\",,", "\\"]"#, 3),
            (r#"["open, , ,"#, 2),
        ] {
            assert_eq!(values(json.as_bytes()), count, "{json}");
        }
    }

    #[test]
    fn a_document_that_would_fill_the_memory_is_refused_before_it_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let list = "1,".repeat(MOST_VALUES);
        std::fs::write(file.path(), format!("{{\"format\":1,\"list\":[{list}1]}}")).unwrap();
        let error = read_report(file.path()).unwrap_err().to_string();
        assert!(error.contains("values"), "{error}");
    }
}
