//! What a learner asks of the session, and the one path on which both faces send it.

use std::sync::Arc;

use tinyllama_lesson::{Course, LearningPath, MarkedAnswer, QuizAnswer, Step};
use tinyllama_session::{
    CheckResultText, CheckedKernel, HintStage, MeasuredRuns, Record, RunExit, Session,
    SessionError, StepRef,
};

use crate::document::Given;
use crate::note_profile;

/// A request to the session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionRequest {
    Enter(StepRef),
    /// The learner has seen the end of the text.
    Read(StepRef),
    /// Evaluates the step's checks on the existing runs without recording the result.
    Look(StepRef),
    Spend(StepRef, f64),
    /// The learner entered something.
    Give(StepRef, Given),
    /// The answer to a question that is asked again.
    Recall(StepRef, QuizAnswer),
    Check(StepRef),
    Hint(StepRef),
    Skip(StepRef, String),
    /// Skips all open steps of this step's lesson, with a reason.
    SkipLesson(StepRef, String),
    /// Takes a path, or the whole course.
    TakePath(Option<LearningPath>),
    /// Opens a lesson before those that it requires.
    OpenEarly(String),
    RunStarted {
        run: String,
        at: StepRef,
        target: String,
        command: Vec<String>,
        /// Place and time of the recording; `None` for a run of this machine.
        recording: Option<String>,
    },
    RunFinished {
        run: String,
        at: StepRef,
        exit: RunExit,
    },
    /// A profile was made or imported for a step.
    Profiled {
        at: StepRef,
        command: Vec<String>,
    },
    /// A learner's kernel was checked.
    Tried(StepRef, Box<CheckedKernel>),
    /// Reads what earlier runs measured.
    Measure,
}

/// The session's answer to a request.
#[derive(Debug)]
pub struct Reply {
    /// Records written since the last reply.
    pub records: Vec<Record>,
    /// Events that are not on the disk yet.
    pub unsaved: usize,
    /// The measured runs, read again if they may have changed.
    pub measured: Option<Arc<MeasuredRuns>>,
    pub news: News,
}

/// The subject of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    None,
    /// A step was skipped.
    Skipped(StepRef),
    /// `None` if the right answer depends on a command that has not run yet.
    Marked(StepRef, Option<MarkedAnswer>),
    Checked {
        at: StepRef,
        outcomes: Vec<CheckResultText>,
        /// True if the learner asked for the checks; false if a finished run triggered them.
        asked: bool,
    },
    Looked {
        at: StepRef,
        outcomes: Vec<CheckResultText>,
    },
    Hint {
        at: StepRef,
        hint: Option<HintStage>,
    },
    /// An instructor wrote a message, unlocked or reset something.
    Notices(Vec<String>),
    Failed {
        message: String,
        remedy: String,
    },
}

/// Carries out a request and returns its result.
pub fn answer(session: &mut Session, course: &Course, request: SessionRequest) -> Reply {
    let measures = matches!(
        request,
        SessionRequest::Measure
            | SessionRequest::RunFinished { .. }
            | SessionRequest::Profiled { .. }
    );
    // A request about a step that the course no longer has does nothing.
    let done = carry_out(session, course, request).unwrap_or(Ok(News::None));
    let news = done.unwrap_or_else(|error| News::Failed {
        remedy: error.remedy(),
        message: error.to_string(),
    });
    reply(session, course, news, measures)
}

/// Returns a reply with what was recorded since the last one.
pub fn reply(session: &mut Session, course: &Course, news: News, measures: bool) -> Reply {
    let measured = measures.then(|| session.measured(course).ok()).flatten();
    Reply {
        records: session.news(),
        unsaved: session.unsaved(),
        measured: measured.map(Arc::new),
        news,
    }
}

/// Carries out a request. Returns `None` for a step that the course does not have.
pub fn carry_out(
    session: &mut Session,
    course: &Course,
    request: SessionRequest,
) -> Option<Result<News, SessionError>> {
    let done = |result: Result<(), SessionError>| result.map(|()| News::None);
    Some(match request {
        SessionRequest::Measure => Ok(News::None),
        SessionRequest::Spend(at, seconds) => done(session.spend(at, seconds)),
        SessionRequest::Skip(at, note) => {
            session.skip(at.clone(), &note).map(|()| News::Skipped(at))
        }
        SessionRequest::SkipLesson(at, note) => {
            let skipped = session.skip_lesson(course.lesson(&at.lesson)?, &note);
            skipped.map(|()| News::Skipped(at))
        }
        SessionRequest::OpenEarly(lesson) => done(session.open_early(&lesson)),
        SessionRequest::TakePath(path) => done(session.take_path(path.as_ref())),
        SessionRequest::Enter(at) => {
            let (lesson, step) = course.find_step(&at)?;
            done(session.turn_to(lesson, step))
        }
        SessionRequest::Read(at) => {
            let (lesson, step) = course.find_step(&at)?;
            done(session.read(lesson, step))
        }
        SessionRequest::Look(at) => {
            let outcomes = session.outcomes(course, course.find_step(&at)?.1);
            outcomes.map(|outcomes| News::Looked { at, outcomes })
        }
        SessionRequest::Give(at, given) => {
            let (_, step) = course.find_step(&at)?;
            give(session, course, at, step, given)
        }
        SessionRequest::Recall(at, answer) => {
            let (_, step) = course.find_step(&at)?;
            let marked = session.recall(at.clone(), course, step, answer);
            marked.map(|marked| News::Marked(at, marked))
        }
        SessionRequest::Check(at) => check(session, course, at, true)?,
        SessionRequest::Hint(at) => {
            let hint = session.next_hint(at.clone(), course.find_step(&at)?.1);
            hint.map(|hint| News::Hint { at, hint })
        }
        SessionRequest::RunStarted {
            run,
            at,
            target,
            command,
            recording,
        } => {
            let started = session.start_run(&run, Some(at), &target, command);
            let marked = started.and_then(|()| match recording {
                Some(origin) => session.mark_recording(&run, &origin),
                None => Ok(()),
            });
            done(marked)
        }
        SessionRequest::RunFinished { run, at, exit } => match session.run_ended(&run, exit) {
            Ok(()) if exit.is_success() => check(session, course, at, false)?,
            ended => done(ended),
        },
        SessionRequest::Profiled { at, command } => {
            let step = course.find_step(&at).map(|(_, step)| step);
            let target = step.and_then(|step| step.target.as_deref());
            let target = target.unwrap_or_default();
            match note_profile(session, at.clone(), target, command) {
                Ok(()) => check(session, course, at, false)?,
                Err(error) => Err(error),
            }
        }
        SessionRequest::Tried(at, tried) => done(session.check_kernel(at, &tried)),
    })
}

/// Records what the learner entered.
fn give(
    session: &mut Session,
    course: &Course,
    at: StepRef,
    step: &Step,
    given: Given,
) -> Result<News, SessionError> {
    match given {
        Given::Guess(value) => session.predict(at, value)?,
        Given::Text(text) => session.reflect(at, &text)?,
        Given::Suspect(suspect) => session.suspect(at, step, &suspect)?,
        Given::Answer(answer) => {
            let marked = session.answer(at.clone(), course, step, answer)?;
            return Ok(News::Marked(at, marked));
        }
    }
    Ok(News::None)
}

fn check(
    session: &mut Session,
    course: &Course,
    at: StepRef,
    asked: bool,
) -> Option<Result<News, SessionError>> {
    let (lesson, step) = course.find_step(&at)?;
    let outcomes = session.check(course, lesson, step);
    Some(outcomes.map(|outcomes| News::Checked {
        at,
        outcomes,
        asked,
    }))
}
