//! Temporary folders that a killed process does not leave for ever: the next start of the program removes them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use tempfile::TempDir;

const PREFIX: &str = "tinyllama-tutor-";

/// A folder for temporary files of this process. It is removed with this value.
#[derive(Debug)]
pub struct ScratchFolder {
    folder: TempDir,
    /// Held as long as the process lives, so that others can tell that the folder is in use.
    _lock: File,
}

impl ScratchFolder {
    /// # Errors
    /// Returns the file system's error.
    pub fn new() -> io::Result<Self> {
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
            let lock = open(folder.path())?;
            // Another process may have found it without a lock, and removes it. Some file systems have no locks.
            let is_taken = matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock));
            if !is_taken && folder.path().exists() {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes this user's folders of processes that ended without removing them. What cannot be removed stays.
pub fn remove_abandoned() {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten();
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            drop(remove_if_abandoned(&entry.path()));
        }
    }
}

fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    let lock = open(path)?;
    // SAFETY: the call has no arguments and cannot fail.
    let is_own = lock.metadata()?.uid() == unsafe { libc::geteuid() };
    match is_own && lock.try_lock().is_ok() {
        true => fs::remove_dir_all(path),
        false => Ok(()),
    }
}

/// Opens a folder, and no link to one: everybody can make a name in the folder for temporary files.
fn open(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = libc::O_NOFOLLOW | libc::O_DIRECTORY;
    options.read(true).custom_flags(flags).open(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_use_stays_and_an_abandoned_one_goes() {
        let used = ScratchFolder::new().unwrap();
        fs::write(used.path().join("file"), "").unwrap();
        let abandoned = tempfile::Builder::new().prefix(PREFIX).tempdir().unwrap();
        let abandoned = abandoned.keep();
        let link = abandoned.with_extension("link");
        std::os::unix::fs::symlink(used.path(), &link).unwrap();
        remove_abandoned();
        let stays = (used.path().join("file").exists(), link.is_symlink());
        fs::remove_file(&link).unwrap();
        assert_eq!((stays, abandoned.exists()), ((true, true), false));
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
