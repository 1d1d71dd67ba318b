//! Keeps compiled modules between processes: one file each, named by the hash of everything they were made from.

use std::cell::OnceCell;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use tinyllama_base::file;

/// A folder of compiled modules. It only saves time: an unreadable module is compiled again. If a module cannot be
/// written (read-only home, full disk), it is not kept, and the cache remembers the reason.
#[derive(Clone, Debug)]
pub struct ModuleCache {
    folder: PathBuf,
    error: OnceCell<String>,
}

/// Bytes of the hash in front of the code.
const HASH_BYTES: usize = 32;

impl ModuleCache {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        ModuleCache {
            folder: folder.into(),
            error: OnceCell::new(),
        }
    }

    /// Returns why code was not kept; `None` if all was.
    pub fn error(&self) -> Option<&String> {
        self.error.get()
    }

    /// Opens `$XDG_CACHE_HOME/tinyllama-tutor/modules`; `None` if there is no home.
    pub fn of_user() -> Option<Self> {
        Some(ModuleCache::new(file::cached("modules")?))
    }

    /// Returns the code stored under `key`; `None` if there is none or the file is damaged.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        let mut file = fs::read(self.folder.join(key)).ok()?;
        if file.len() < HASH_BYTES {
            return None;
        }
        let code = file.split_off(HASH_BYTES);
        (Sha256::digest(&code).as_slice() == file).then_some(code)
    }

    /// Stores `code` under `key` completely or not at all, because two processes may do it at once.
    pub fn store(&self, key: &str, code: &[u8]) {
        let written = fs::create_dir_all(&self.folder).and_then(|()| {
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            file.write_all(&Sha256::digest(code))?;
            file.write_all(code)?;
            file.persist(self.folder.join(key))
                .map_err(|error| error.error)
        });
        // Code that is not kept is compiled again next time, which is no reason to stop.
        if let Err(error) = written {
            let folder = self.folder.display();
            self.error.get_or_init(|| format!("{folder}: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_again_and_damage_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ModuleCache::new(folder.path().join("modules"));
        assert_eq!(cache.get("a"), None);
        cache.store("a", b"code a");
        cache.store("b", b"code b");
        assert_eq!(cache.get("a").as_deref(), Some(&b"code a"[..]));

        let file = cache.folder.join("a");
        let mut bytes = fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&file, &bytes).unwrap();
        assert_eq!(cache.get("a"), None, "a changed byte");
        fs::write(&file, &bytes[..10]).unwrap();
        assert_eq!(cache.get("a"), None, "a truncated file");
        assert_eq!(cache.get("b").as_deref(), Some(&b"code b"[..]));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let in_the_way = folder.path().join("file");
        fs::write(&in_the_way, "").unwrap();
        let cache = ModuleCache::new(in_the_way.join("modules"));
        assert_eq!(cache.error(), None);
        cache.store("a", b"code");
        assert_eq!(cache.get("a"), None);
        assert!(cache.error().is_some_and(|why| why.contains("modules: ")));
    }
}
