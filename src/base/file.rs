//! Checksums of files, and writes that either succeed completely or change nothing.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use tempfile::NamedTempFile;

/// The path of `name` in this program's part of the user's cache, `$XDG_CACHE_HOME/tinyllama-tutor`; `None` without a
/// home folder.
pub fn cached(name: &str) -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.cache_dir().join("tinyllama-tutor").join(name))
}

/// Replaces a file in one step: readers see the old content or the new one, even after a power cut.
///
/// # Errors
/// Returns the file system's error.
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
/// Returns the file system's error.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// True if an error means that the disk or quota is full.
pub fn is_full(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded)
}

/// Turns "not found" into `None`.
///
/// # Errors
/// Returns every other error of the file system.
pub fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Lists a folder's entries, sorted. The list is empty if the folder does not exist.
///
/// # Errors
/// Returns every other error of the file system.
pub fn inside(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = if_there(fs::read_dir(folder))?.into_iter().flatten();
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Creates a folder with its missing parents, readable by its owner only. Existing folders stay unchanged.
///
/// # Errors
/// Returns the file system's error.
pub fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates or empties a file that only its owner can read.
///
/// # Errors
/// Returns the file system's error.
pub fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}
