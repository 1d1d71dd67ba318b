//! A round of two runs that are alive at once and take turns ([`turns`]).

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use parking_lot::Mutex;

use super::start::printable;
use super::supervise::Process;
use crate::run::{Control, RunFolder};
use tinyllama_contract::turns;

/// One of the two runs. The second starts together with the first. Its output is kept until it is supervised, too.
#[derive(Clone, Debug)]
pub struct Turn {
    pub(super) words: Vec<OsString>,
    /// Command line of the second run, if this is the first.
    second: Option<Vec<OsString>>,
    started: Arc<Mutex<Option<(RunFolder, Process)>>>,
}

impl Turn {
    /// Creates both runs from their command lines. The first has to be supervised first.
    pub(super) fn of_both(first: Vec<OsString>, second: Vec<OsString>) -> [Turn; 2] {
        let started = Arc::default();
        let turn = |words, second| Turn {
            words,
            second,
            started: Arc::clone(&started),
        };
        [turn(first, Some(second.clone())), turn(second, None)]
    }

    /// Starts the process and creates its folder below `root`.
    ///
    /// # Errors
    /// Fails if a folder cannot be written or a program cannot be started.
    pub(super) fn process(&self, root: &Path, control: &Control) -> Result<(RunFolder, Process)> {
        let begin = |words: &[OsString], control: &Control, turn| {
            let folder = RunFolder::create(root, printable(words))?;
            let process = Process::start(words, &folder, control, turn)?;
            anyhow::Ok((folder, process))
        };
        let Some(second) = &self.second else {
            return match self.started.lock().take() {
                Some((folder, process)) => Ok((folder, process.under(control))),
                None => begin(&self.words, control, None),
            };
        };
        let (one, other) = UnixStream::pair().context("cannot connect two runs")?;
        let first = begin(&self.words, control, Some((turns::FIRST, one)))?;
        let turn = Some((turns::SECOND, other));
        *self.started.lock() = Some(begin(second, &Control::default(), turn)?);
        Ok(first)
    }
}
