//! Writes the session on a separate thread, because an event waits for the disk and a frame must not.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::tui::Message;
use tinyllama_lesson::Course;
use tinyllama_session::{Session, SessionError};
use tinyllama_tutor_core::SharedSession;
use tinyllama_tutor_core::request::{News, Reply, SessionRequest, answer, reply};

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

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_lesson::CourseSource;
    use tinyllama_session::event::{KernelTime, Scope};
    use tinyllama_session::{
        InstructorOrder, OrderAction, SessionEvent, SessionLocation, StepRef, inbox,
    };

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
