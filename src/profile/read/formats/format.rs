//! What every format has: how it is recognised and how it is read.

use crate::read::file_import::{FileImport, RowCount};
use crate::read::sample::FileSample;
use tinyllama_base::known_by_name;

/// A format that a profiler writes.
pub struct ProfileFormat {
    /// Name in lists of files. It is unique.
    pub name: &'static str,
    pub recognises: fn(&FileSample<'_>) -> bool,
    /// Adds a file of this format to the profile.
    pub read: fn(&mut FileImport<'_>) -> RowCount,
}

known_by_name!(ProfileFormat);
