//! An allocation that several runs use, one after the other. A folder records its number and its users.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;

use super::events::EventWriter;
use super::{ONE, queue};
use crate::launcher::error::LaunchError;
use tinyllama_base::replace;

/// Script that occupies the allocation until it is given back.
const HOLDER: &str = "#!/bin/sh\nexec sleep infinity\n";

#[derive(Debug)]
pub(super) struct SlurmAllocation {
    folder: PathBuf,
    /// A file that every user of the allocation locks.
    user: Option<File>,
}

impl SlurmAllocation {
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

    /// Waits for a running allocation and returns its number. Requests one if there is none. Stops waiting if the end is
    /// requested. The allocation counts as used until `self` is dropped.
    pub(super) fn wait_for(
        &mut self,
        asked: &[OsString],
        events: &mut EventWriter,
    ) -> Result<String, LaunchError> {
        let broken =
            |error: io::Error| LaunchError::Other(format!("{}: {error}", self.folder.display()));
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
        let begun = queue::wait_for(&job, events);
        if begun.is_err() || events.is_stopped() {
            // A process that no longer waits removes its job from the queue.
            self.user = None;
            self.release_unused();
        }
        begun.map(|()| job)
    }

    /// Returns a lock if no process uses the allocation. While the lock is held, none can begin to.
    pub(super) fn unused(&self) -> Option<File> {
        let user = self.lock("user").ok()?;
        user.try_lock().is_ok().then_some(user)
    }

    pub(super) fn release_unused(&self) {
        if let Some(_nobody) = self.unused() {
            self.release();
        }
    }

    /// Gives the allocation back.
    pub(super) fn release(&self) {
        if let Some(job) = self.job() {
            queue::cancel(&job);
            // If this fails, the file goes with its folder.
            drop(fs::remove_file(self.folder.join("job")));
        }
    }
}

fn is_alive(job: &str) -> bool {
    matches!(queue::job(job), Ok(Some(job)) if job.is_alive() && job.state != "COMPLETING")
}

/// Flags of the submitted job.
fn flags(asked: &[OsString]) -> Vec<OsString> {
    const SUBMITTED: [&str; 5] = [
        "--parsable",
        "--job-name=tinyllama-tutor",
        "--output=/dev/null",
        "--no-requeue",
        "--chdir=/",
    ];
    let own = SUBMITTED.into_iter().chain(ONE).map(OsString::from);
    own.chain(asked.iter().cloned()).collect()
}
