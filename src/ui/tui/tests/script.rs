//! Runs the tutor's event loop with keys and messages from a test and a terminal in memory. It records effects that
//! would reach beyond the screen.

use std::io;
use std::num::NonZeroU16;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::tui::Theme;
use crate::tui::model::Model;
use crate::tui::model::message::{Effect, HandOver, Message, RunId};
use crate::tui::model::task::BackgroundTask;
use crate::tui::runtime::event_loop::{TerminalGuard, TerminalInput};
use crate::tui::runtime::screen::ScreenDevice;
use crate::tui::runtime::{EffectHandler, Tutor, on_one_thread};
use crate::tui::update::navigate;
use crate::tui::view::document;
use crate::tui::{Key, KeyMap};
use tinyllama_lesson::{Course, CourseSource};
use tinyllama_runs::recording::{self, Library};
use tinyllama_runs::{RunUpdate, read_line};
use tinyllama_session::event::{RunExit, StepRef};
use tinyllama_session::{Session, SessionLocation};
use tinyllama_tutor_core::request::answer;
use tinyllama_tutor_core::{RunEnding, TutorError};

/// The event stream of a run with eight quick steps.
pub const STREAM: &str = include_str!("../script/run.jsonl");

/// Initial columns and rows of the terminal.
const SIZE: (u16, u16) = (80, 24);

pub struct Script {
    tutor: Tutor<Notes>,
    stage: TerminalGuard,
    messages: mpsc::Receiver<Message>,
    keys: mpsc::UnboundedSender<Event>,
    runtime: Runtime,
    terminal: Terminal,
    /// True if the last key or message changed anything on the screen.
    pub changed: bool,
    folder: TempDir,
}

/// Records the effects of a tutor. Its session is real and answers at once.
pub struct Notes {
    pub session: Session,
    course: Arc<Course>,
    sender: mpsc::Sender<Message>,
    /// Effects that are no requests to the session, in order.
    pub effects: Vec<Effect>,
    pub handed_over: Vec<HandOver>,
}

impl EffectHandler for Notes {
    fn carry_out(&mut self, effect: Effect, _: &Model) {
        match effect {
            Effect::Session(request) => {
                let reply = answer(&mut self.session, &self.course, request);
                let reply = Message::Session(Box::new(reply));
                self.sender.try_send(reply).expect("room for a reply");
            }
            effect => self.effects.push(effect),
        }
    }

    fn prepare(&mut self, request: HandOver) -> Result<BackgroundTask, String> {
        self.handed_over.push(request);
        let job = Box::new(|_: &_| {});
        Ok(BackgroundTask { meanwhile: "", job })
    }

    fn start_program(&mut self, _: BackgroundTask) {}

    fn program_ended(&mut self) {}
}

/// A terminal in memory, which shows the same as a real one.
#[derive(Clone)]
struct Terminal(Arc<Mutex<vt100::Parser>>);

impl ScreenDevice for Terminal {
    fn set_raw(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut parser = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parser.process(bytes);
        Ok(())
    }

    fn size(&self) -> io::Result<(u16, u16)> {
        Ok(SIZE)
    }

    fn mouse(&self) -> bool {
        false
    }
}

impl Deref for Script {
    type Target = Tutor<Notes>;

    fn deref(&self) -> &Tutor<Notes> {
        &self.tutor
    }
}

impl DerefMut for Script {
    fn deref_mut(&mut self) -> &mut Tutor<Notes> {
        &mut self.tutor
    }
}

pub fn test_course() -> Course {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/course");
    Course::load(&CourseSource::Folder(folder)).expect("the tests' course is sound")
}

impl Script {
    /// A learner's first visit after closing the welcome page.
    pub fn in_new_folder() -> Self {
        let mut script = Self::at_first();
        script.model.clear_overlays();
        script
    }

    /// A learner's first screen.
    pub fn at_first() -> Self {
        Self::with_course(test_course())
    }

    /// A learner's first visit of a course.
    pub fn with_course(course: Course) -> Self {
        Self::with_folder(tempfile::tempdir().expect("a temporary folder"), course)
    }

    fn with_folder(folder: TempDir, course: Course) -> Self {
        let course = Arc::new(course);
        let place = SessionLocation {
            folder: folder.path().to_path_buf(),
            learner: "ada".into(),
        };
        let mut session = Session::open(place).expect("a session");
        session.news();
        let mut state = session.state().clone();
        // The order of choices depends on the learner's name.
        state.identity = "ada".into();
        let state = Arc::new(state);
        let mut model = Model::new(
            Arc::clone(&course),
            state,
            KeyMap::default(),
            Theme::default(),
        );
        let recordings =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/recordings");
        let recordings = recording::RecordingSource::Folder(recordings);
        model.recordings = Arc::new(Library::load(recordings).expect("the tests' recordings"));
        let runtime = on_one_thread().expect("a runtime");
        let (sender, messages) = mpsc::channel(4096);
        let (keys, pressed) = mpsc::unbounded_channel();
        let pressed = UnboundedReceiverStream::new(pressed);
        let pressed = tokio_stream::StreamExt::map(pressed, Ok);
        let waiting: Mutex<Option<TerminalInput>> = Mutex::new(Some(Box::pin(pressed)));
        // After the terminal was given away and back, the new listener receives nothing.
        let listen = move || -> TerminalInput {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let again = || -> TerminalInput { Box::pin(tokio_stream::pending()) };
            waiting.take().unwrap_or_else(again)
        };
        let [columns, rows] = [SIZE.0, SIZE.1].map(|size| NonZeroU16::new(size).expect("a size"));
        let terminal = Terminal(Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0))));
        let mut stage = TerminalGuard::on_device(terminal.clone(), listen).expect("a stage");
        let hands = Notes {
            session,
            course,
            sender,
            effects: Vec::new(),
            handed_over: Vec::new(),
        };
        let mut tutor = Tutor::new(model, hands);
        tutor.begin(&mut stage).expect("a beginning");
        let mut script = Self {
            tutor,
            stage,
            messages,
            keys,
            runtime,
            terminal,
            changed: true,
            folder,
        };
        script.turn().expect("the session's first words");
        script
    }

    /// The same learner at a later start.
    pub fn reopened(self) -> Self {
        let Script { tutor, folder, .. } = self;
        drop(tutor);
        Self::with_folder(folder, test_course())
    }

    /// One turn of the loop.
    fn turn(&mut self) -> Result<(), TutorError> {
        let turn = self
            .stage
            .handle_arrived(&mut self.tutor, &mut self.messages);
        let turned = self.runtime.block_on(turn);
        self.changed = self.tutor.model.dirty;
        turned.and_then(|()| self.stage.show(&mut self.tutor))
    }

    pub fn send(&mut self, message: Message) {
        let sender = &self.tutor.handler.sender;
        sender.try_send(message).expect("room for a message");
        self.turn().expect("the loop goes on");
    }

    pub fn event(&mut self, event: Event) {
        self.keys.send(event).expect("a loop that listens");
        self.turn().expect("the loop goes on");
    }

    /// Presses keys by name, separated by spaces: `n enter 1`.
    pub fn keys(&mut self, keys: &str) {
        for name in keys.split_whitespace() {
            let key = Key::parse(name).expect("a key");
            self.event(Event::Key(KeyEvent::new(key.code, key.modifiers)));
        }
    }

    pub fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            let event = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            self.event(Event::Key(event));
        }
    }

    /// The terminal's content after everything was drawn, however little time has passed.
    pub fn look(&mut self) -> String {
        let (columns, rows) = self.tutor.model.size;
        self.event(Event::Resize(columns, rows));
        self.screen()
    }

    /// The terminal's content.
    pub fn screen(&self) -> String {
        let parser = self
            .terminal
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        parser.screen().contents()
    }

    /// The visible text of the step.
    pub fn text(&self) -> String {
        let lines = document(&self.tutor.model).lines;
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    pub fn notice(&self) -> &str {
        self.tutor
            .model
            .notice
            .as_ref()
            .map_or("", |notice| notice.text.as_str())
    }

    pub fn step(&self) -> &str {
        self.tutor
            .model
            .step
            .as_ref()
            .map_or("", |view| view.at.step.as_str())
    }

    /// Takes the last start of a run from the effects.
    pub fn started(&mut self) -> Option<RunId> {
        let effects = &mut self.tutor.handler.effects;
        let position = effects
            .iter()
            .rposition(|effect| matches!(effect, Effect::StartRun { .. }))?;
        match effects.remove(position) {
            Effect::StartRun { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Takes the last work from the effects and returns its line for the learner. Skips work without such a line.
    pub fn worked(&mut self) -> Option<&'static str> {
        let effects = &mut self.tutor.handler.effects;
        let position = effects.iter().rposition(
            |effect| matches!(effect, Effect::Work(work) if !work.meanwhile.is_empty()),
        )?;
        match effects.remove(position) {
            Effect::Work(work) => Some(work.meanwhile),
            _ => None,
        }
    }

    /// Takes the last start of a recording from the effects.
    pub fn played(&mut self) -> Option<(RunId, String)> {
        let effects = &mut self.tutor.handler.effects;
        let position = effects
            .iter()
            .rposition(|effect| matches!(effect, Effect::PlayRecording { .. }))?;
        match effects.remove(position) {
            Effect::PlayRecording { id, recording, .. } => Some((id, recording)),
            _ => None,
        }
    }

    /// Opens a step as the outline would.
    pub fn open(&mut self, at: StepRef) {
        let effects = navigate::open(&mut self.tutor.model, at);
        let Tutor { model, handler, .. } = &mut self.tutor;
        for effect in effects.into_iter().flatten() {
            handler.carry_out(effect, model);
        }
        self.turn().expect("the loop goes on");
    }

    /// Lets a started run go to its planned end.
    pub fn finish(&mut self, id: RunId) {
        self.finish_with(id, STREAM);
    }

    /// Does the same with another event stream.
    pub fn finish_with(&mut self, id: RunId, stream: &str) {
        let run = self.begin_run_with(id, stream);
        for line in stream.lines() {
            let line = read_line(line);
            self.send(Message::Run(id, RunUpdate::Line(line)));
        }
        let ending = RunEnding {
            exit: Some(RunExit::Status(0)),
            message: "The run ended as planned.".into(),
            remedy: None,
            ..RunEnding::default()
        };
        self.send(Message::RunEnded {
            id,
            run: Some(run),
            ending,
        });
    }

    /// Lets a run begin, with its files in place. Returns its id in the session.
    pub fn begin_run(&mut self, id: RunId) -> String {
        self.begin_run_with(id, STREAM)
    }

    fn begin_run_with(&mut self, id: RunId, stream: &str) -> String {
        let run = format!("run-{}", id.0);
        let folder = self.tutor.handler.session.location.runs().join(&run);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("events.jsonl"), stream).expect("a file");
        let flags = self.tutor.model.run_mut(id).map(|run| run.flags.clone());
        let args = ["tinyllama-tutor", "run", "v1", "--events", "json"].map(String::from);
        let command = args
            .into_iter()
            .chain(flags.into_iter().flatten())
            .collect();
        self.send(Message::Run(
            id,
            RunUpdate::Started {
                run: run.clone(),
                command,
            },
        ));
        run
    }
}
