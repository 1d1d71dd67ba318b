//! Slow work on separate threads, and the context that it needs.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use tokio::sync::mpsc;

use crate::tui::Message;
use tinyllama_lesson::Course;
use tinyllama_runs::FinishedRuns;
use tinyllama_tutor_core::TutorOptions;

/// The parts of the tutor that such work may use.
#[derive(Clone)]
pub struct TaskContext {
    pub options: Arc<TutorOptions>,
    pub course: Arc<Course>,
    /// The session's finished runs.
    pub runs: Arc<FinishedRuns>,
    pub sender: mpsc::Sender<Message>,
}

impl TaskContext {
    pub fn send(&self, message: Message) {
        // The receiver is gone when the tutor ends.
        let _ = self.sender.blocking_send(message);
    }

    /// The folder of the session and its runs.
    pub fn root(&self) -> &Path {
        &self.options.location.folder
    }

    pub fn spawn(self, work: BackgroundTask) {
        thread::spawn(move || (work.job)(&self));
    }
}

/// A job to run on a separate thread.
pub struct BackgroundTask {
    /// A line for the learner while the job runs; empty if there is nothing to wait for.
    pub meanwhile: &'static str,
    pub job: Box<dyn FnOnce(&TaskContext) + Send>,
}

impl fmt::Debug for BackgroundTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Work").field(&self.meanwhile).finish()
    }
}
