//! What became of the files of an import.

use std::fmt;
use std::path::{Path, PathBuf};

use super::formats::ProfileFormat;
use tinyllama_base::plural;

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    pub path: PathBuf,
    pub format: &'static ProfileFormat,
    pub rows: u64,
}

impl fmt::Display for FileRead {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let (path, rows) = (self.path.display(), plural(self.rows as usize, "row"));
        write!(out, "{path}: {}, {rows}", self.format)
    }
}

/// A file that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    pub path: PathBuf,
    pub reason: String,
}

/// Files that were not read for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut<'a> {
    /// The file, or the innermost folder that holds all of them.
    pub path: &'a Path,
    pub files: usize,
    pub reason: &'a str,
}

impl LeftOut<'_> {
    /// The path, with the number of files below it if there are several.
    pub fn files(&self) -> String {
        let path = self.path.display();
        match self.files {
            1 => path.to_string(),
            several => format!("{path} ({several} files)"),
        }
    }
}

impl fmt::Display for LeftOut<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}: {}", self.files(), self.reason)
    }
}
