//! Reads a run of an earlier day from its files.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::tui::{RunContext, RunView};
use tinyllama_runs::{EVENTS_FILE, RunRecord, read_line, stderr_tail};
use tinyllama_tutor_core::RunEnding;

impl RunView {
    /// Reads the run as the learner saw it when it ended.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn read(folder: &Path, context: RunContext) -> io::Result<(Self, RunEnding)> {
        let mut view = RunView::new(context);
        let stream = BufReader::new(File::open(folder.join(EVENTS_FILE))?);
        for line in stream.split(b'\n') {
            view.state
                .line(&read_line(&String::from_utf8_lossy(&line?)));
        }
        let record = RunRecord::read(folder).unwrap_or_default();
        let exit = record.exit.and_then(|exit| exit.parse().ok());
        let failure = view.state.failure.as_ref();
        let ending = RunEnding::kept(exit, failure, stderr_tail(folder));
        view.ended(ending.clone());
        Ok((view, ending))
    }
}
