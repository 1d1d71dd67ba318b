//! Faults of a file and their places.

use std::fmt;
use std::path::{Path, PathBuf};

use tinyllama_base::untrusted::plain;

/// A place in a file. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocation {
    pub file: PathBuf,
    pub line: Option<u64>,
    /// Number of the field in CSV, of the character in JSON and text.
    pub column: Option<u64>,
    /// Name of the field, view or record, if it describes the place better than a number.
    pub name: Option<String>,
}

impl FileLocation {
    pub fn file(path: &Path) -> Self {
        FileLocation {
            file: path.to_owned(),
            line: None,
            column: None,
            name: None,
        }
    }

    pub fn line(path: &Path, line: u64) -> Self {
        FileLocation {
            line: Some(line),
            ..FileLocation::file(path)
        }
    }
}

impl fmt::Display for FileLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", plain(&self.file.display().to_string()))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        match &self.name {
            Some(name) => write!(f, " ({})", plain(name)),
            None => Ok(()),
        }
    }
}

/// A file that breaks the rules of its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {}", plain(problem))]
pub struct Damage {
    pub location: FileLocation,
    /// The fault and, if known, what to do.
    pub problem: String,
}

impl Damage {
    pub fn new(location: FileLocation, problem: impl Into<String>) -> Self {
        Damage {
            location,
            problem: problem.into(),
        }
    }

    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        Damage::new(FileLocation::file(path), format!("cannot be read: {error}"))
    }
}

/// After this many damaged records the reader gives up, because the file is not what it claims to be.
const GIVE_UP_AFTER: usize = 20;

/// Damaged records of one file. Good records around them are kept.
#[derive(Debug, Default)]
pub struct DamageLog {
    pub found: Vec<Damage>,
}

impl DamageLog {
    /// Notes a damaged record. Returns `Err` after too many.
    pub fn add(&mut self, damage: Damage) -> Result<(), Damage> {
        if self.found.len() + 1 < GIVE_UP_AFTER {
            self.found.push(damage);
            return Ok(());
        }
        let Damage { location, problem } = damage;
        let rest = "the rest of the file is not read after";
        let problem = format!("{problem}; {rest} {GIVE_UP_AFTER} damaged records");
        Err(Damage { location, problem })
    }
}
