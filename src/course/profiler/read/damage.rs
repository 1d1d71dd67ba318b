//! What is wrong with a file, and where.

use std::fmt;
use std::path::{Path, PathBuf};

use tinyllama_base::foreign::plain;

/// A place in a file. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    pub line: Option<u64>,
    /// The field's number in CSV, the character's in JSON and text.
    pub column: Option<u64>,
    /// The field's name, the view, the record: whatever names the place better than a number.
    pub name: Option<String>,
}

impl Place {
    pub fn file(path: &Path) -> Self {
        Place {
            file: path.to_owned(),
            line: None,
            column: None,
            name: None,
        }
    }

    pub fn line(path: &Path, line: u64) -> Self {
        Place {
            line: Some(line),
            ..Place::file(path)
        }
    }
}

impl fmt::Display for Place {
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

/// A file that does not say what its format promises.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {}", plain(problem))]
pub struct Damage {
    pub place: Place,
    /// What is wrong and, where it is known, what to do.
    pub problem: String,
}

impl Damage {
    pub fn new(place: Place, problem: impl Into<String>) -> Self {
        Damage {
            place,
            problem: problem.into(),
        }
    }

    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        Damage::new(Place::file(path), format!("cannot be read: {error}"))
    }
}

/// Damaged records of one file after which reading it is given up: it is then not the file it claims to be.
const GIVE_UP_AFTER: usize = 20;

/// Damaged records of one file. Good records around them are kept.
#[derive(Debug, Default)]
pub struct DamageLog {
    pub found: Vec<Damage>,
}

impl DamageLog {
    /// Notes a damaged record; `Err` when there have been too many to go on.
    pub fn add(&mut self, damage: Damage) -> Result<(), Damage> {
        if self.found.len() + 1 < GIVE_UP_AFTER {
            self.found.push(damage);
            return Ok(());
        }
        let Damage { place, problem } = damage;
        let rest = "the rest of the file is not read after";
        let problem = format!("{problem}; {rest} {GIVE_UP_AFTER} damaged records");
        Err(Damage { place, problem })
    }
}
