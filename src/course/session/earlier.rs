//! The logs that compacting took out of use: each lies among the backups, by the number of its last record.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::log::scan_bytes;
use crate::session::{Event, MOST_LOG_BYTES, Scan, SessionError};
use tinyllama_base::foreign;

/// A log as it was read.
#[derive(Debug)]
pub struct KeptLog {
    pub bytes: Vec<u8>,
    pub scan: Scan,
}

/// What a compacted log says of the one it took the place of.
#[derive(Clone, Copy, Debug)]
pub struct Replaced<'a> {
    pub records: u64,
    pub last_hash: &'a str,
    /// The sum of its records.
    pub state: &'a Value,
}

impl KeptLog {
    /// # Errors
    /// When it is of a newer program.
    pub fn of(bytes: Vec<u8>, path: &Path) -> Result<Self, SessionError> {
        let scan = scan_bytes(&bytes, path)?;
        Ok(Self { bytes, scan })
    }

    fn read(path: &Path) -> Result<Self, SessionError> {
        let bytes = foreign::read(path, MOST_LOG_BYTES);
        Self::of(bytes.map_err(SessionError::io("reading", path))?, path)
    }

    /// None for a log that began with its session.
    pub fn replaced(&self) -> Option<Replaced<'_>> {
        match &self.scan.records.first()?.event {
            Event::Compacted {
                previous_hash,
                previous_records,
                state,
                ..
            } => Some(Replaced {
                records: *previous_records,
                last_hash: previous_hash,
                state,
            }),
            _ => None,
        }
    }
}

/// Where the log lies that ended with this record, in a session's folder.
pub fn file(folder: &Path, records: u64) -> PathBuf {
    folder.join(format!("backups/events-{records}.jsonl"))
}

/// The log of a session and those before it, newest first, as far as they are there. Whether each is what the next one says
/// is not looked at.
///
/// # Errors
/// When one of them cannot be read.
pub fn logs(folder: &Path) -> Result<Vec<KeptLog>, SessionError> {
    let mut logs = vec![KeptLog::read(&folder.join("events.jsonl"))?];
    let mut before = u64::MAX;
    while let Some(replaced) = logs.last().and_then(KeptLog::replaced) {
        let path = file(folder, replaced.records);
        // Each goes further back; one that leads to itself would go on forever.
        if replaced.records >= before || !path.is_file() {
            break;
        }
        before = replaced.records;
        logs.push(KeptLog::read(&path)?);
    }
    Ok(logs)
}
