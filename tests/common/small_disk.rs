//! A disk that fills up quickly.

#![allow(dead_code, reason = "every test binary uses its own part of this")]

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A small file system in memory; `None` if this process may not mount one.
pub struct SmallDisk(TempDir);

impl SmallDisk {
    pub fn mount() -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| Self(folder))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn make_read_only(&self) {
        let status = Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(self.0.path())
            .status();
        assert!(status.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(self.0.path()).status());
    }
}
