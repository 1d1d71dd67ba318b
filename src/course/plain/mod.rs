//! The course as a dialogue of lines: for screen readers, for terminals that can do little, and for scripts.
//!
//! Everything a learner can do on the full screen can be done here, through the same functions of the session.

mod command;
mod dialogue;
mod run;
mod show;
mod step;

pub use show::markdown;

use std::io;
use std::sync::Arc;

use self::dialogue::Dialogue;
use crate::lesson::Course;
use crate::run::Processes;
use crate::session::Session;
use crate::tutor::{Face, Options, SharedSession, TutorError, watch};

/// Holds the dialogue on standard input and output until the learner leaves or the input ends.
///
/// # Errors
/// When it cannot begin, or the output is closed.
pub fn run(options: Options) -> Result<(), TutorError> {
    let course = Course::load(&options.course)?;
    let mut session = Session::open(options.place.clone())?;
    session.opened(&course.title, &course.version)?;
    let session = SharedSession::new(session);
    let processes = Processes::default();
    let face = Lines {
        processes: processes.clone(),
    };
    let watch = watch(session.clone(), processes.clone(), Arc::new(face))
        .map_err(TutorError::io("listening for signals"))?;
    let dialogue = Dialogue {
        options,
        course: &course,
        session: session.clone(),
        processes,
        input: io::stdin().lock(),
        output: io::stdout().lock(),
        at: None,
    };
    let result = dialogue.hold();
    watch.done();
    let kept = session.close().map_err(TutorError::from);
    match result {
        // Whoever closed the output has read enough.
        Err(TutorError::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => kept,
        result => result.and(kept),
    }
}

/// Lines need no restoring; an interrupt ends the run that is going, and only without one the tutor.
struct Lines {
    processes: Processes,
}

impl Face for Lines {
    fn restore(&self) {}

    fn continued(&self) {}

    fn interrupted(&self) -> bool {
        self.processes.ask_to_end()
    }
}
