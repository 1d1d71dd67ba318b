//! An allocation that several runs use, one after the other: a folder says which it is and who uses it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;

use super::array::ARRAYS;
use super::{SUBMITTED, queue};
use crate::run::launcher::near::Teller;
use crate::run::launcher::trouble::Trouble;
use tinyllama_base::replace;

/// Holds what was given until it is taken back.
const HOLDER: &str = "#!/bin/sh\nexec sleep infinity\n";

#[derive(Debug)]
pub(super) struct Allocation {
    folder: PathBuf,
    /// Locked by everybody who uses it.
    user: Option<File>,
}

impl Allocation {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, user: None }
    }

    fn lock(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        options.open(self.folder.join(name))
    }

    fn job(&self) -> Option<String> {
        fs::read_to_string(self.folder.join("job")).ok()
    }

    /// The number of an allocation that runs, asked for if there is none, unless the end is asked for meanwhile. It counts as
    /// used until this is dropped.
    pub(super) fn wait_for(
        &mut self,
        asked: &[OsString],
        teller: &mut Teller,
    ) -> Result<String, Trouble> {
        let broken =
            |error: io::Error| Trouble::Other(format!("{}: {error}", self.folder.display()));
        let user = self.lock("user").map_err(broken)?;
        user.lock_shared().map_err(broken)?;
        let job = {
            let submitting = self.lock("submit").map_err(broken)?;
            submitting.lock().map_err(broken)?;
            match self.job().filter(|job| is_alive(job)) {
                Some(job) => job,
                None => {
                    let job = queue::submit(&flags(asked), HOLDER)?;
                    replace(&self.folder.join("job"), job.as_bytes()).map_err(broken)?;
                    job
                }
            }
        };
        self.user = Some(user);
        let begun = queue::wait_for(&job, teller);
        if begun.is_err() || teller.is_stopped() {
            // Who waits for nothing any more leaves the queue.
            self.user = None;
            self.release_unused();
        }
        begun.map(|()| job)
    }

    /// Whether nobody uses it; nobody can begin to as long as the file is kept.
    pub(super) fn unused(&self) -> Option<File> {
        let user = self.lock("user").ok()?;
        user.try_lock().is_ok().then_some(user)
    }

    pub(super) fn release_unused(&self) {
        if let Some(_nobody) = self.unused() {
            self.release();
        }
    }

    /// Gives it back.
    pub(super) fn release(&self) {
        if let Some(job) = self.job() {
            queue::cancel(&job);
            // Gone with its folder otherwise.
            drop(fs::remove_file(self.folder.join("job")));
        }
    }

    /// Gives back all that its keeper is to answer for.
    pub(super) fn release_all(&self) {
        self.release();
        let arrays = fs::read_to_string(self.folder.join(ARRAYS)).unwrap_or_default();
        arrays.lines().for_each(queue::cancel);
    }
}

fn is_alive(job: &str) -> bool {
    matches!(queue::job(job), Ok(Some(job)) if job.is_alive() && job.state != "COMPLETING")
}

fn flags(asked: &[OsString]) -> Vec<OsString> {
    let own = SUBMITTED
        .into_iter()
        .chain(["--chdir=/"])
        .map(OsString::from);
    own.chain(asked.iter().cloned()).collect()
}
