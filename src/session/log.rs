//! Reads, repairs and extends `events.jsonl`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::chain::START;
use super::event::FORMAT;
use crate::{Record, SessionError, SessionEvent, chain};
use tinyllama_base::file::open_private;
use tinyllama_base::{create_private, file, if_there, safe_path, untrusted};

/// A larger log is neither written nor read. No session of this program comes near this size.
pub const MOST_LOG_BYTES: u64 = 256 << 20;

/// Damaged lines that are reported one by one.
const MOST_DAMAGE: usize = 1000;

/// A changed line, or missing lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogDamage {
    /// Line number, from 1.
    pub line: usize,
    pub why: String,
}

/// The content of a log.
#[derive(Debug, Default)]
pub struct Scan {
    /// All intact records, in order.
    pub records: Vec<Record>,
    pub damage: Vec<LogDamage>,
    /// Hashes of all intact lines, in order.
    pub hashes: Vec<String>,
    /// Hash of the last intact line; [`START`] if there is none.
    pub last_hash: String,
    /// Bytes up to the end of the last complete line.
    pub whole_bytes: usize,
    /// Bytes after it that form no line.
    pub torn_bytes: usize,
    /// True if the last line is intact but lacks its newline.
    pub lacks_newline: bool,
}

impl Scan {
    /// Refuses a log without records, because no session began in `folder`.
    pub fn begun(self, folder: &Path) -> Result<Self, SessionError> {
        match self.records.is_empty() {
            true => Err(SessionError::no_events(folder)),
            false => Ok(self),
        }
    }
}

/// Reads a whole log. Damage is reported; only a format of a newer program is an error.
pub fn scan(path: &Path) -> Result<Scan, SessionError> {
    let bytes = if_there(safe_path::read(path, MOST_LOG_BYTES));
    let bytes = bytes.map_err(SessionError::io("reading", path))?;
    scan_bytes(&bytes.unwrap_or_default(), path)
}

pub(super) fn scan_bytes(bytes: &[u8], path: &Path) -> Result<Scan, SessionError> {
    let mut scan = Scan {
        last_hash: START.to_string(),
        ..Scan::default()
    };
    let mut after_damage = false;
    let mut more = 0;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let content = line.strip_suffix(b"\n");
        let damage = |why: String| LogDamage {
            line: index + 1,
            why,
        };
        match chain::decode(content.unwrap_or(line)) {
            Ok(intact) => {
                // The damage of a line explains a broken link right after it.
                if intact.previous != scan.last_hash && !after_damage {
                    scan.damage
                        .push(damage("lines before it are missing or were changed".into()));
                }
                after_damage = false;
                scan.last_hash = intact.hash.to_string();
                scan.hashes.push(intact.hash.to_string());
                scan.lacks_newline = content.is_none();
                match Record::read(intact.record.get()) {
                    Ok(record) => scan.records.push(upgrade(record, path)?),
                    Err(error) => scan
                        .damage
                        .push(damage(format!("its record cannot be understood ({error})"))),
                }
            }
            Err(_) if content.is_none() => {
                scan.torn_bytes = line.len();
                break;
            }
            Err(broken) => {
                after_damage = true;
                scan.damage.push(damage(broken.to_string()));
            }
        }
        scan.whole_bytes += line.len();
        // In a file of another kind, every line is damaged.
        more += scan
            .damage
            .drain(scan.damage.len().min(MOST_DAMAGE)..)
            .count();
    }
    if more > 0 {
        let line = bytes.split(|byte| *byte == b'\n').count();
        let why = format!("{more} more lines are damaged");
        scan.damage.push(LogDamage { line, why });
    }
    Ok(scan)
}

/// Converts a record of an older format to the current one. There is only one format so far.
fn upgrade(record: Record, path: &Path) -> Result<Record, SessionError> {
    match record.event {
        SessionEvent::Created { format, .. } if format > FORMAT => Err(SessionError::NewerFormat {
            path: path.to_path_buf(),
            found: format,
            known: FORMAT,
        }),
        _ => Ok(record),
    }
}

/// A log that is open for writing.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    /// Bytes that are known to be complete lines on the disk.
    bytes: u64,
    /// Hash of the last line. A report quotes it, so that a hand-in can be checked.
    pub last_hash: String,
    /// True if a failed write may have left part of a line.
    torn: bool,
}

impl Log {
    /// Opens the log after its last intact record. Torn bytes are moved to `backups`; the returned text
    /// describes the repair.
    pub fn open(
        path: &Path,
        scan: &Scan,
        backups: &Path,
    ) -> Result<(Self, Option<String>), SessionError> {
        let io = |action| SessionError::io(action, path);
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create(true);
        let mut file = open_private(options, path).map_err(io("opening"))?;
        let mut bytes = scan.whole_bytes as u64;
        let mut note = None;
        if scan.torn_bytes > 0 {
            let kept = keep_torn(path, scan, backups)?;
            file.set_len(bytes).map_err(io("mending"))?;
            note = Some(format!(
                "The last line was cut off when the tutor or the machine stopped. Its {} bytes were moved to {kept}; everything before is intact.",
                scan.torn_bytes
            ));
        } else if scan.lacks_newline {
            file.write_all(b"\n").map_err(io("mending"))?;
            bytes += 1;
            note = Some("The last line lacked its end and was completed; nothing is lost.".into());
        }
        // A log without repairs is on the disk already.
        if note.is_some() || scan.whole_bytes == 0 {
            file.sync_all().map_err(io("saving"))?;
            file::sync_folder(path).map_err(io("saving"))?;
        }
        let log = Self {
            path: path.to_path_buf(),
            file,
            bytes,
            last_hash: scan.last_hash.clone(),
            torn: false,
        };
        Ok((log, note))
    }

    /// Refuses records that would make the log too long for the next tutor to read.
    pub fn check_room<'a>(
        &self,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Result<(), SessionError> {
        self.encode(records).map(drop)
    }

    /// The lines of records, and the hash of the last one.
    fn encode<'a>(
        &self,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Result<(String, String), SessionError> {
        let mut lines = String::new();
        let mut last_hash = self.last_hash.clone();
        for record in records {
            let text = serde_json::to_string(record).map_err(|error| self.error(error.into()))?;
            let (line, hash) = chain::encode(&last_hash, &text);
            if line.len() as u64 > untrusted::LONGEST_LINE {
                return Err(
                    self.too_large("would get a line of more than", untrusted::LONGEST_LINE)
                );
            }
            lines.push_str(&line);
            if self.bytes + lines.len() as u64 > MOST_LOG_BYTES {
                return Err(self.too_large("would have more than", MOST_LOG_BYTES));
            }
            last_hash = hash;
        }
        Ok((lines, last_hash))
    }

    fn too_large(&self, what: &str, most: u64) -> SessionError {
        SessionError::TooLarge {
            path: self.path.clone(),
            what: format!("{what} {most} bytes"),
        }
    }

    /// Writes `records` and returns when they are on the disk. After a failure the file is restored.
    pub fn append(&mut self, records: &[Record]) -> Result<(), SessionError> {
        tracing::debug!(path = ?self.path, records = records.len(), "saves to a session");
        self.check_in_place()?;
        let (lines, last_hash) = self.encode(records)?;
        self.write(lines.as_bytes())
            .map_err(|error| self.error(error))?;
        self.bytes += lines.len() as u64;
        self.last_hash = last_hash;
        Ok(())
    }

    /// Checks that the open file is still the one that the next tutor will find.
    pub fn check_in_place(&self) -> Result<(), SessionError> {
        let same = |found: fs::Metadata| {
            let own = self.file.metadata()?;
            Ok((found.dev(), found.ino()) == (own.dev(), own.ino()))
        };
        match fs::metadata(&self.path).and_then(same) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.gone()),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Err(self.gone())
            }
            Err(error) => Err(self.error(error)),
        }
    }

    fn gone(&self) -> SessionError {
        SessionError::Gone {
            path: self.path.clone(),
        }
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.bytes)?;
        }
        self.torn = true;
        if let Err(error) = self
            .file
            .write_all(lines)
            .and_then(|()| self.file.sync_data())
        {
            self.torn = self.file.set_len(self.bytes).is_err();
            return Err(error);
        }
        self.torn = false;
        Ok(())
    }

    fn error(&self, source: io::Error) -> SessionError {
        SessionError::io("saving to", &self.path)(source)
    }
}

fn keep_torn(path: &Path, scan: &Scan, backups: &Path) -> Result<String, SessionError> {
    let bytes = fs::read(path).map_err(SessionError::io("reading", path))?;
    create_private(backups).map_err(SessionError::io("creating", backups))?;
    let name = format!("torn-{}-{}.txt", scan.records.len() + 1, scan.torn_bytes);
    replace(
        &backups.join(&name),
        bytes.get(scan.whole_bytes..).unwrap_or_default(),
    )?;
    Ok(format!("backups/{name}"))
}

/// Replaces a file in one step: readers see the old content or the new one.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<(), SessionError> {
    file::replace(path, content).map_err(SessionError::io("writing", path))
}

/// Replaces a file by a value as JSON.
pub(super) fn replace_json(path: &Path, value: &impl Serialize) -> Result<(), SessionError> {
    let text = serde_json::to_vec(value);
    let text = text.map_err(|error| SessionError::io("writing", path)(error.into()))?;
    replace(path, &text)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    fn note(text: &str) -> Record {
        Record {
            n: 1,
            time: String::new(),
            event: SessionEvent::Note { text: text.into() },
        }
    }

    fn log(path: PathBuf, file: File, bytes: u64) -> Log {
        Log {
            path,
            file,
            bytes,
            last_hash: START.into(),
            torn: false,
        }
    }

    #[test]
    fn records_that_could_not_be_read_again_are_not_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || OpenOptions::new().append(true).open(file.path()).unwrap();
        let mut full = log(file.path().into(), open(), MOST_LOG_BYTES - 100);
        let error = full.append(&[note("")]).unwrap_err();
        assert!(matches!(error, SessionError::TooLarge { .. }), "{error}");
        assert!(error.remedy().contains("start a new session"));
        assert_eq!(fs::metadata(file.path()).unwrap().len(), 0);
        let mut empty = log(file.path().into(), open(), 0);
        empty.append(&[note("")]).unwrap();
    }

    /// A pipe takes bytes, but has no disk. Code that does not wait for the disk would not notice.
    #[test]
    fn a_record_is_kept_only_once_it_is_on_the_disk() {
        let (_reader, writer) = std::io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        if !path.exists() {
            eprintln!("SKIPPED: this system does not show the files of a process");
            return;
        }
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        assert!(log(path, file, 0).append(&[note("")]).is_err());
    }
}
