//! Writes the session on a separate thread, because an event waits for the disk and a frame must not.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::tui::{Message, News, Reply, SessionRequest};
use tinyllama_lesson::Course;
use tinyllama_session::{Session, SessionError, StepRef};
use tinyllama_tutor_core::document::Given;
use tinyllama_tutor_core::{SharedSession, note_profile};

/// Interval at which the inbox is read. A tutor has to notice an instructor's order within two seconds.
const INBOX: Duration = Duration::from_secs(1);

pub struct SessionWriter {
    requests: Option<Sender<SessionRequest>>,
    thread: Option<JoinHandle<()>>,
    session: SharedSession,
}

impl SessionWriter {
    pub fn start(
        session: SharedSession,
        course: Arc<Course>,
        sender: mpsc::Sender<Message>,
        in_class: bool,
    ) -> Self {
        let (requests, received) = channel();
        let shared = session.clone();
        let thread = thread::spawn(move || work(&shared, &course, &received, &sender, in_class));
        Self {
            requests: Some(requests),
            thread: Some(thread),
            session,
        }
    }

    pub fn send(&self, request: SessionRequest) {
        if let Some(requests) = &self.requests {
            // The thread ends only when the session ends, and then the tutor ends, too.
            let _ = requests.send(request);
        }
    }

    /// Carries out the requests that were sent, then closes the session.
    ///
    /// # Errors
    /// If the session cannot store something that was done.
    pub fn close(&mut self) -> Result<(), SessionError> {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.session.close()
    }
}

fn work(
    session: &SharedSession,
    course: &Course,
    requests: &Receiver<SessionRequest>,
    sender: &mpsc::Sender<Message>,
    in_class: bool,
) {
    let mut looked = Instant::now();
    loop {
        // Outside a class only the learner's other terminals write into the inbox. That can wait for the next request, so an
        // idle tutor sleeps.
        let request = if in_class {
            requests.recv_timeout(INBOX)
        } else {
            requests.recv().map_err(RecvTimeoutError::from)
        };
        let request = match request {
            Ok(request) => Some(request),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let looks = looked.elapsed() >= INBOX;
        let replies = session.with_session(|session| {
            let reply = request.map(|request| answer(session, course, request));
            let notices = looks.then(|| look_into_inbox(session, course)).flatten();
            [reply, notices]
        });
        let Some(replies) = replies else {
            return;
        };
        if looks {
            looked = Instant::now();
        }
        for reply in replies.into_iter().flatten() {
            // The reply waits in the queue behind the lines that a run prints. Once the tutor ends, the send fails;
            // requests are still carried out.
            let _ = sender.blocking_send(Message::Session(Box::new(reply)));
        }
    }
}

/// Reads what instructors asked for since the last call. Returns `None` if there is nothing, so that nothing
/// is drawn.
fn look_into_inbox(session: &mut Session, course: &Course) -> Option<Reply> {
    // The next call tries again after an error. The learner already sees a warning about an unwritable disk
    // when they do something.
    let notices = session.poll_notices().unwrap_or_default();
    let notices: Vec<String> = notices.iter().map(|it| it.text(course)).collect();
    (!notices.is_empty()).then(|| reply(session, course, News::Notices(notices), true))
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

fn reply(session: &mut Session, course: &Course, news: News, measures: bool) -> Reply {
    let measured = measures.then(|| session.measured(course).ok()).flatten();
    Reply {
        records: session.news(),
        unsaved: session.unsaved(),
        measured: measured.map(Arc::new),
        news,
    }
}

fn carry_out(
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
            match given {
                Given::Guess(value) => done(session.predict(at, value)),
                Given::Text(text) => done(session.reflect(at, &text)),
                Given::Suspect(suspect) => done(session.suspect(at, step, &suspect)),
                Given::Answer(answer) => {
                    let marked = session.answer(at.clone(), course, step, answer);
                    marked.map(|marked| News::Marked(at, marked))
                }
            }
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
            let target = course
                .find_step(&at)
                .and_then(|(_, step)| step.target.as_deref());
            let target = target.unwrap_or_default();
            match note_profile(session, at.clone(), target, command) {
                Ok(()) => check(session, course, at, false)?,
                Err(error) => Err(error),
            }
        }
        SessionRequest::Tried(at, tried) => done(session.check_kernel(at, &tried)),
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_lesson::CourseSource;
    use tinyllama_session::event::{KernelTime, Scope};
    use tinyllama_session::{InstructorOrder, OrderAction, SessionEvent, SessionLocation, inbox};

    #[test]
    fn a_reply_waits_until_there_is_room_among_what_runs_say() {
        let folder = tempfile::tempdir().unwrap();
        let place = SessionLocation::new(folder.path(), "ada");
        let course = Arc::new(Course::load(&CourseSource::BuiltIn).unwrap());
        let session = SharedSession::new(Session::open(place).unwrap());
        let (sender, mut received) = mpsc::channel(1);
        sender.try_send(Message::Continued).unwrap();
        let mut writer = SessionWriter::start(session.clone(), course, sender, false);
        writer.send(SessionRequest::Enter(StepRef::new("welcome", "the-model")));
        let is_entered = |session: &mut Session| session.state().position.is_some();
        while session.with_session(is_entered) == Some(false) {
            thread::yield_now();
        }
        // This is long enough to lose a reply that does not wait.
        thread::sleep(Duration::from_millis(50));
        assert!(matches!(received.blocking_recv(), Some(Message::Continued)));
        let reply = received.blocking_recv();
        assert!(matches!(reply, Some(Message::Session(_))), "{reply:?}");
        writer.close().unwrap();
    }

    #[test]
    fn what_another_terminal_did_is_kept_outside_a_class_too() {
        let folder = tempfile::tempdir().unwrap();
        let place = SessionLocation::new(folder.path(), "ada");
        let course = Arc::new(Course::load(&CourseSource::BuiltIn).unwrap());
        let session = SharedSession::new(Session::open(place.clone()).unwrap());
        let (sender, mut received) = mpsc::channel(64);
        let mut writer = SessionWriter::start(session.clone(), course, sender, false);
        let event = SessionEvent::KernelTimed {
            exercise: "elementwise".into(),
            sha256: "0".repeat(64),
            timed: KernelTime {
                device: "AMD Instinct MI300X".into(),
                milliseconds: 1.0,
                gigabytes_per_s: 1.0,
                gigaflops_per_s: 1.0,
            },
        };
        let order = OrderAction::Record { event };
        inbox::send(&place, &InstructorOrder::new("ada", order)).unwrap();
        // The next request after the interval brings it.
        let until = Instant::now() + 10 * INBOX;
        let is_kept = |session: &mut Session| !session.state().kernels.is_empty();
        while session.with_session(is_kept) == Some(false) {
            assert!(Instant::now() < until, "the order is still in the inbox");
            writer.send(SessionRequest::Enter(StepRef::new("welcome", "the-model")));
            assert!(received.blocking_recv().is_some());
        }
        writer.close().unwrap();
    }

    #[test]
    fn an_instructors_reset_reaches_the_open_tutor_within_two_seconds() {
        let folder = tempfile::tempdir().unwrap();
        let place = SessionLocation::new(folder.path(), "ada");
        let course = Arc::new(Course::load(&CourseSource::BuiltIn).unwrap());
        let mut session = Session::open(place.clone()).unwrap();
        let mut state = session.state().clone();
        session.news();
        let session = SharedSession::new(session);
        let (sender, mut received) = mpsc::channel(16);
        let mut writer = SessionWriter::start(session, course, sender, true);
        let at = StepRef::new("welcome", "the-model");
        for request in [
            SessionRequest::Enter(at.clone()),
            SessionRequest::Read(at.clone()),
        ] {
            writer.send(request);
            let Some(Message::Session(reply)) = received.blocking_recv() else {
                panic!("no reply");
            };
            reply.records.iter().for_each(|record| state.apply(record));
        }
        assert!(state.step("welcome", "the-model").is_some());

        let reset = OrderAction::Reset {
            scope: Scope::Step(at),
            workbench: Vec::new(),
        };
        inbox::send(&place, &InstructorOrder::new("Teacher", reset)).unwrap();
        let Some(Message::Session(reply)) = received.blocking_recv() else {
            panic!("no notice");
        };
        let News::Notices(notices) = &reply.news else {
            panic!("{reply:?}");
        };
        assert!(notices[0].contains("Teacher reset"), "{notices:?}");
        reply.records.iter().for_each(|record| state.apply(record));
        assert!(state.step("welcome", "the-model").is_none());
        writer.close().unwrap();
    }
}
