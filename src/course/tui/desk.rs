//! Work that takes longer than a frame may: on threads of their own, with everything it needs at hand.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use tokio::sync::mpsc;

use crate::lesson::Course;
use crate::run::FinishedRuns;
use crate::tui::Message;
use crate::tutor::Options;

/// What such work needs of the tutor.
#[derive(Clone)]
pub struct Desk {
    pub options: Arc<Options>,
    pub course: Arc<Course>,
    /// The session's finished runs.
    pub runs: Arc<FinishedRuns>,
    pub sender: mpsc::Sender<Message>,
}

impl Desk {
    pub fn tell(&self, message: Message) {
        // Nobody listens any more when the tutor ends.
        let _ = self.sender.blocking_send(message);
    }

    /// Where the session and its runs are kept.
    pub fn root(&self) -> &Path {
        &self.options.place.folder
    }

    pub fn begin(self, work: Work) {
        thread::spawn(move || (work.job)(&self));
    }
}

/// Something to be done at a desk.
pub struct Work {
    /// For the learner; empty where there is nothing to wait for.
    pub meanwhile: &'static str,
    pub job: Box<dyn FnOnce(&Desk) + Send>,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Work").field(&self.meanwhile).finish()
    }
}
