//! Files that are there whole or not at all, and their checksums.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use tempfile::NamedTempFile;

/// A place in this program's part of the user's cache, `$XDG_CACHE_HOME/tinyllama-tutor`; `None` where there is no home.
pub fn cached(name: &str) -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.cache_dir().join("tinyllama-tutor").join(name))
}

/// Replaces a file in one step: readers see the old content or the new one, also after a power cut.
///
/// # Errors
/// What the file system says.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder(path)
}

/// Makes a new or renamed file in its folder survive a power cut.
///
/// # Errors
/// What the file system says.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Creates a folder and what is missing above it, for its owner alone. What is there is left as it is.
///
/// # Errors
/// What the file system says.
pub fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A new or emptied file for its owner alone.
///
/// # Errors
/// What the file system says.
pub fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

/// Lower-case digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits =
        |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)]));
    bytes.iter().flat_map(digits).collect()
}
