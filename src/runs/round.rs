//! A round of two runs that are alive at once and take turns ([`turns`]).

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use parking_lot::Mutex;

use super::start::printable;
use super::supervise::ChildProcess;
use crate::{Control, RunFolder};
use tinyllama_contract::turns;

/// One of the two runs. The second starts together with the first. Its output is kept until it is supervised, too.
#[derive(Clone, Debug)]
pub struct RoundRun {
    pub(super) argv: Vec<OsString>,
    /// Command line of the second run, if this is the first.
    second: Option<Vec<OsString>>,
    started: Arc<Mutex<Option<(RunFolder, ChildProcess)>>>,
}

impl RoundRun {
    /// Creates both runs from their command lines. The first has to be supervised first.
    pub(super) fn of_both(first: Vec<OsString>, second: Vec<OsString>) -> [RoundRun; 2] {
        let started = Arc::default();
        let turn = |argv, second| RoundRun {
            argv,
            second,
            started: Arc::clone(&started),
        };
        [turn(first, Some(second.clone())), turn(second, None)]
    }

    /// Starts the process and creates its folder below `root`.
    ///
    /// # Errors
    /// Fails if a folder cannot be written or a program cannot be started.
    pub(super) fn process(
        &self,
        root: &Path,
        control: &Control,
    ) -> Result<(RunFolder, ChildProcess)> {
        let begin = |argv: &[OsString], control: &Control, turn| {
            let folder = RunFolder::create(root, printable(argv))?;
            let process = ChildProcess::start(argv, &folder, control, turn)?;
            anyhow::Ok((folder, process))
        };
        let Some(second) = &self.second else {
            return match self.started.lock().take() {
                Some((folder, process)) => Ok((folder, process.with_control(control))),
                None => begin(&self.argv, control, None),
            };
        };
        let (one, other) = UnixStream::pair().context("cannot connect two runs")?;
        let first = begin(&self.argv, control, Some((turns::FIRST, one)))?;
        let turn = Some((turns::SECOND, other));
        *self.started.lock() = Some(begin(second, &Control::default(), turn)?);
        Ok(first)
    }
}
