//! The course as a dialogue of lines: for screen readers, for simple terminals, and for scripts.
//!
//! It offers everything that the full screen offers, through the same functions of the session.

mod command;
mod dialogue;
pub mod handout;
mod run;
mod show;
mod step;
#[cfg(test)]
mod tests;

pub use show::{LONGEST_LINE, folded_prose, for_terminal, markdown, markdown_for_terminal};

use std::io;
use std::sync::Arc;

use self::dialogue::Dialogue;
use tinyllama_lesson::Course;
use tinyllama_runs::Processes;
use tinyllama_session::Session;
use tinyllama_tutor_core::{Face, SharedSession, TutorError, TutorOptions, start_at, watch};

/// Printed when the learner leaves, but only if everything was stored.
pub const FAREWELL: &str = "Everything is saved. Until next time.";

/// Runs the dialogue on standard input and output until the learner leaves or the input ends.
///
/// # Errors
/// If it cannot start, or the output is closed.
pub fn run(options: TutorOptions) -> Result<(), TutorError> {
    let course = Course::load(&options.course)?;
    let mut session = Session::open(options.location.clone())?;
    session.record_opening(&course.title, &course.version)?;
    if let Some(name) = &options.from {
        start_at(&mut session, &course, name)?;
    }
    let session = SharedSession::new(session);
    let processes = Processes::default();
    let face = LineMode {
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
        tried_lesson: None,
        plays_recordings: false,
    };
    let result = dialogue.run_to_end();
    watch.done();
    let kept = session.close().map_err(TutorError::from);
    match result {
        // A reader such as `head` closes the output when it has enough; this is no error.
        Err(TutorError::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => kept,
        result => result.and(kept),
    }
}

/// The dialogue has no terminal state to restore. An interrupt ends the active run, or the tutor if there is none.
struct LineMode {
    processes: Processes,
}

impl Face for LineMode {
    fn restore(&self) {}

    fn continued(&self) {}

    fn interrupted(&self) -> bool {
        self.processes.ask_to_end()
    }
}
