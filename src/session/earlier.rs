//! Logs that compacting replaced. Each lies in the backups, named after the number of its last record.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::log::scan_bytes;
use crate::{MOST_LOG_BYTES, Scan, SessionError, SessionEvent};
use tinyllama_base::safe_path;

/// The content of a log.
#[derive(Debug)]
pub struct StoredLog {
    pub bytes: Vec<u8>,
    pub scan: Scan,
}

/// A compacted log's data about the log that it replaced.
#[derive(Clone, Copy, Debug)]
pub struct Replaced<'a> {
    pub records: u64,
    pub last_hash: &'a str,
    /// The state after its last record.
    pub state: &'a Value,
}

impl StoredLog {
    /// Scans the bytes of a log.
    ///
    /// # Errors
    /// If a newer program wrote it.
    pub fn parse(bytes: Vec<u8>, path: &Path) -> Result<Self, SessionError> {
        let scan = scan_bytes(&bytes, path)?;
        Ok(Self { bytes, scan })
    }

    fn read(path: &Path) -> Result<Self, SessionError> {
        let bytes = safe_path::read(path, MOST_LOG_BYTES);
        Self::parse(bytes.map_err(SessionError::io("reading", path))?, path)
    }

    /// `None` for a log that began with its session.
    pub fn replaced_log(&self) -> Option<Replaced<'_>> {
        match &self.scan.records.first()?.event {
            SessionEvent::Compacted {
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

/// Path of the log that ended with this record, in a session's folder.
pub fn file(folder: &Path, records: u64) -> PathBuf {
    folder.join(format!("backups/events-{records}.jsonl"))
}

/// The log of a session and its replaced logs, newest first, as far as the files exist. It does not check that each
/// log matches the one that replaced it.
///
/// # Errors
/// If one of them cannot be read.
pub fn logs(folder: &Path) -> Result<Vec<StoredLog>, SessionError> {
    let mut logs = vec![StoredLog::read(&folder.join("events.jsonl"))?];
    let mut before = u64::MAX;
    while let Some(replaced) = logs.last().and_then(StoredLog::replaced_log) {
        let path = file(folder, replaced.records);
        // Each log has to end before the next one. A log that leads to itself would go on forever.
        if replaced.records >= before || !path.is_file() {
            break;
        }
        before = replaced.records;
        logs.push(StoredLog::read(&path)?);
    }
    Ok(logs)
}
