//! The course as a dialogue of lines: for screen readers, for terminals that can do little, and for scripts.
//!
//! Everything a learner can do on the full screen can be done here, through the same functions of the session.

mod command;
mod dialogue;
mod recording;
mod run;
mod show;
mod step;

use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex};

use self::dialogue::Dialogue;
use crate::lesson::Course;
use crate::session::Session;
use crate::tutor::signals::{Face, SharedSession, watch};
use crate::tutor::{Options, Processes, TutorError};

/// Holds the dialogue on standard input and output until the learner leaves or the input ends.
///
/// # Errors
/// When it cannot begin, or the output is closed.
pub fn run(options: Options) -> Result<(), TutorError> {
    let course = Course::load(&options.course)?;
    let mut session = Session::open(options.place.clone())?;
    session.opened(&course.title, &course.version)?;
    let session: SharedSession = Arc::new(Mutex::new(Some(session)));
    let processes = Processes::default();
    let face = Lines {
        processes: processes.clone(),
    };
    let watch = watch(Arc::clone(&session), processes.clone(), Arc::new(face))
        .map_err(TutorError::io("listening for signals"))?;
    let input = io::stdin().lock();
    let output = io::stdout().lock();
    let result = talk(options, course, &session, processes, input, output);
    watch.done();
    let mut session = session
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    drop(session.take());
    match result {
        // Whoever closed the output has read enough.
        Err(TutorError::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn talk(
    options: Options,
    course: Course,
    session: &SharedSession,
    processes: Processes,
    input: impl BufRead,
    output: impl Write,
) -> Result<(), TutorError> {
    Dialogue::new(options, course, session, processes, input, output).hold()
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
