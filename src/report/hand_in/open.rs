//! Opens a hand-in as a session's folder. An export is unpacked, and a `session.json` gives its records and streams.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use serde::Deserialize;

use super::{HandInError, unreadable};
use crate::Report;
use crate::document::FORMAT;
use tinyllama_base::{ScratchFolder, if_there, untrusted};
use tinyllama_session::runs::events_file;
use tinyllama_session::{MOST_LOG_BYTES, Scan, SessionLocation, archive, check_name, scan};

/// More values would take gigabytes of memory. A long course has some hundred thousand.
const MOST_VALUES: usize = 4_000_000;

/// A hand-in as a session's folder.
#[derive(Debug)]
pub struct OpenHandIn {
    /// `report`, `export` or `session`.
    pub kind: &'static str,
    pub location: SessionLocation,
    /// Runs whose stream is too large to travel with a report.
    pub left_out: BTreeSet<String>,
    /// The document of an anonymous report, which carries no records.
    pub anonymous: Option<Box<Report>>,
    _unpacked: Option<ScratchFolder>,
}

/// The parts of a `session.json` that are read. All others are copies of what they give.
#[derive(Deserialize)]
struct Carried {
    #[serde(default)]
    anonymous: bool,
    chain: CarriedChain,
}

#[derive(Deserialize)]
struct CarriedChain {
    lines: Option<Vec<String>>,
    #[serde(default)]
    streams: Option<BTreeMap<String, Option<String>>>,
}

impl OpenHandIn {
    /// Opens a session's folder, an export, or a `session.json`.
    ///
    /// # Errors
    /// Fails if it is none of these, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, HandInError> {
        if path.is_dir() {
            return Ok(Self::new("session", path, None));
        }
        let is_export = is_export(path).map_err(|error| unreadable(path, error))?;
        let folder = ScratchFolder::new().map_err(|error| unreadable(path, error))?;
        let session = folder.path().join("session");
        let mut hand_in = match is_export {
            true => Self::new("export", &session, Some(folder)),
            false => Self::new("report", &session, Some(folder)),
        };
        match is_export {
            true => drop(archive::import(path, &hand_in.location)?),
            false => hand_in.unpack_report(path)?,
        }
        Ok(hand_in)
    }

    fn new(kind: &'static str, folder: &Path, unpacked: Option<ScratchFolder>) -> Self {
        let name = folder.file_name().unwrap_or_default();
        Self {
            kind,
            location: SessionLocation {
                folder: folder.to_path_buf(),
                learner: name.to_string_lossy().into_owned(),
            },
            left_out: BTreeSet::new(),
            anonymous: None,
            _unpacked: unpacked,
        }
    }

    /// Its log.
    ///
    /// # Errors
    /// Fails if there is none, or it cannot be read.
    pub fn scan(&self) -> Result<Scan, HandInError> {
        Ok(scan(&self.location.events())?.begun(&self.location.folder)?)
    }

    /// Takes streams that did not travel from the session.
    ///
    /// # Errors
    /// Fails if one of them cannot be read, or there is no room for it.
    pub fn complete(&self, session: &Self) -> Result<(), HandInError> {
        for run in &self.left_out {
            let [from, to] = [session, self].map(|it| events_file(&it.location.runs(), run));
            let copy = || match if_there(untrusted::read(&from, MOST_LOG_BYTES))? {
                Some(stream) => write(&to, &stream),
                None => Ok(()),
            };
            copy().map_err(|error| unreadable(&from, error))?;
        }
        Ok(())
    }

    fn unpack_report(&mut self, file: &Path) -> Result<(), HandInError> {
        let bytes = untrusted::read(file, untrusted::MOST_BYTES);
        let bytes = bytes.map_err(|error| unreadable(file, error))?;
        let bytes = untrusted::without_mark(&bytes);
        if values(bytes) > MOST_VALUES {
            let why =
                format!("it has more than the {MOST_VALUES} values that are read of a report");
            return Err(unreadable(file, why));
        }
        check_format(bytes, file)?;
        let carried: Carried =
            serde_json::from_slice(bytes).map_err(|error| unreadable(file, error))?;
        let Some(lines) = carried.chain.lines else {
            if !carried.anonymous {
                return Err(unreadable(file, "it carries no records"));
            }
            let report = serde_json::from_slice(bytes);
            self.anonymous = Some(report.map_err(|error| unreadable(file, error))?);
            return Ok(());
        };
        let failed = |error| unreadable(Path::new("a copy of it"), error);
        let log = lines.join("\n") + "\n";
        write(&self.location.events(), log.as_bytes()).map_err(failed)?;
        for (run, stream) in carried.chain.streams.into_iter().flatten() {
            check_name(&run)?;
            match stream {
                Some(stream) => {
                    let path = events_file(&self.location.runs(), &run);
                    write(&path, stream.as_bytes()).map_err(failed)?;
                }
                None => drop(self.left_out.insert(run)),
            }
        }
        Ok(())
    }
}

/// Writes a file, and the folders that it lies in.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.with_file_name(""))?;
    fs::write(path, bytes)
}

fn check_format(json: &[u8], file: &Path) -> Result<(), HandInError> {
    #[derive(Deserialize)]
    struct Version {
        format: Option<u64>,
    }
    let version: Version = serde_json::from_slice(json).map_err(|error| unreadable(file, error))?;
    match version.format {
        Some(format) if format == u64::from(FORMAT) => Ok(()),
        Some(found) => Err(HandInError::Format {
            file: file.display().to_string(),
            found,
        }),
        None => Err(unreadable(
            file,
            "it is not a session.json: it has no `format`",
        )),
    }
}

/// Returns whether a file is a gzip stream. A truncated export fails only when it is unpacked.
///
/// # Errors
/// Fails if it is not a regular file, or cannot be read.
pub fn is_export(file: &Path) -> io::Result<bool> {
    let file = untrusted::open(file)?;
    Ok(GzDecoder::new(file.take(1 << 16)).header().is_some())
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
        let error = OpenHandIn::open(file.path()).unwrap_err().to_string();
        assert!(error.contains("values"), "{error}");
    }
}
