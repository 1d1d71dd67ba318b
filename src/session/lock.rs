//! Lets one tutor at a time open a session. The kernel releases the lock of a process that ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::{Holder, SessionError};
use tinyllama_base::file::open_private;
use tinyllama_base::{safe_path, untrusted};

/// A longer file does not name a holder.
const MOST_BYTES: u64 = 1 << 12;

/// The lock of a session, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Takes the lock. If an earlier tutor crashed or was killed, also returns that holder.
pub fn acquire(path: &Path) -> Result<(Lock, Option<Holder>), SessionError> {
    acquire_with(path, File::try_lock)
}

fn acquire_with(
    path: &Path,
    try_lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<(Lock, Option<Holder>), SessionError> {
    let mut options = OpenOptions::new();
    // Without these flags, opening a pipe would wait for a process that writes.
    let options = options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let options = options.read(true).write(true).create(true).truncate(false);
    let mut file = open_private(options, path)
        .and_then(untrusted::regular)
        .map_err(SessionError::io("opening", path))?;
    match try_lock(&file) {
        Ok(()) => {
            let before = read_holder(&mut file);
            // The holder is only information for others, so a full disk does not prevent the lock.
            drop(write_holder(&mut file, &Holder::this_process()));
            Ok((Lock { file }, before))
        }
        Err(TryLockError::WouldBlock) => {
            let unknown = || Holder {
                pid: 0,
                host: "an unknown machine".into(),
                since: "an unknown time".into(),
            };
            Err(SessionError::Held {
                holder: read_holder(&mut file).unwrap_or_else(unknown),
            })
        }
        Err(TryLockError::Error(source)) => Err(SessionError::LockUnsupported {
            path: path.to_path_buf(),
            source,
        }),
    }
}

/// The current holder of the session in `folder`; `None` if it is not open.
pub fn holder(path: &Path) -> Option<Holder> {
    let mut file = safe_path::open(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => read_holder(&mut file),
        _ => None,
    }
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write_holder(file: &mut File, holder: &Holder) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(serde_json::to_string(holder)?.as_bytes())?;
    file.flush()
}

impl Drop for Lock {
    fn drop(&mut self) {
        // An empty file tells the next tutor that this one ended in order.
        drop(self.file.set_len(0));
        // Closing the file is not enough: a child that was just forked may still have a copy of the descriptor.
        drop(self.file.unlock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_tutor_is_told_who_holds_the_session() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let (first, before) = acquire(&path).unwrap();
        assert_eq!(before, None);
        let refused = acquire(&path).unwrap_err();
        let SessionError::Held { holder: found } = &refused else {
            panic!("{refused}")
        };
        assert_eq!(found.pid, std::process::id());
        assert_eq!(holder(&path).unwrap().pid, std::process::id());
        drop(first);
        assert_eq!(holder(&path), None);
        assert_eq!(acquire(&path).unwrap().1, None);
    }

    #[test]
    fn a_lock_left_by_a_killed_tutor_is_taken_over_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let dead = Holder {
            pid: 4_000_000,
            host: "login2".into(),
            since: "2026-01-01T00:00:00Z".into(),
        };
        std::fs::write(&path, serde_json::to_string(&dead).unwrap()).unwrap();
        assert_eq!(acquire(&path).unwrap().1, Some(dead));
    }

    #[test]
    fn a_pipe_in_the_place_of_the_lock_is_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a path that ends in a zero, and a mode.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let error = acquire(&path).unwrap_err();
        assert!(error.to_string().contains("a pipe"), "{error}");
        assert!(error.remedy().contains("move"), "{}", error.remedy());
    }

    #[test]
    fn a_file_system_without_locks_is_named_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let no_locks = |_: &File| {
            Err(TryLockError::Error(std::io::Error::from_raw_os_error(
                libc::ENOLCK,
            )))
        };
        let error = acquire_with(&path, no_locks).unwrap_err();
        assert!(
            matches!(error, SessionError::LockUnsupported { .. }),
            "{error}"
        );
        assert!(error.remedy().contains("XDG_STATE_HOME"));
    }
}
