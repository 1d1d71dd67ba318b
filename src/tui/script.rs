//! A tutor without a terminal and without processes, for tests: keys and messages in, the model to look at.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tempfile::TempDir;

use super::keys::{Key, KeyMap};
use super::message::{Effect, Message, RunId};
use super::model::Model;
use super::runtime::clerk::answer;
use super::theme::Theme;
use super::update::{begin, update};
use super::view::document;
use crate::lesson::{Course, Source};
use crate::recording::{self, Library};
use crate::run::read_line;
use crate::session::event::RunExit;
use crate::session::{Place, Session};
use crate::tutor::Ending;

/// A run of eight quick steps, as its event stream.
const STREAM: &str = include_str!("script/run.jsonl");

pub struct Script {
    pub model: Model,
    pub session: Session,
    pub course: Arc<Course>,
    /// Effects that are no requests to the session, in order.
    pub effects: Vec<Effect>,
    folder: TempDir,
}

pub fn test_course() -> Course {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course");
    Course::load(&Source::Folder(folder)).expect("the tests' course is sound")
}

impl Script {
    /// A learner's first visit.
    pub fn in_new_folder() -> Self {
        Self::at(tempfile::tempdir().expect("a temporary folder"))
    }

    fn at(folder: TempDir) -> Self {
        let course = Arc::new(test_course());
        let place = Place {
            folder: folder.path().to_path_buf(),
            learner: "ada".into(),
        };
        let session = Session::open(place).expect("a session");
        let state = Arc::new(session.state().clone());
        let mut model = Model::new(
            Arc::clone(&course),
            state,
            KeyMap::default(),
            Theme::default(),
        );
        let recordings =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
        let recordings = recording::Source::Folder(recordings);
        model.recordings = Arc::new(Library::load(recordings).expect("the tests' recordings"));
        let mut script = Self {
            model,
            session,
            course,
            effects: Vec::new(),
            folder,
        };
        let effects = begin(&mut script.model);
        script.carry_out(effects);
        script
    }

    /// The same learner, later.
    pub fn reopened(self) -> Self {
        let Script {
            session, folder, ..
        } = self;
        drop(session);
        Self::at(folder)
    }

    pub fn send(&mut self, message: Message) {
        self.model.dirty = false;
        let effects = update(&mut self.model, message);
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Session(request) => {
                    let reply = answer(&mut self.session, &self.course, request);
                    let more = update(&mut self.model, Message::Session(Box::new(reply)));
                    self.carry_out(more);
                }
                effect => self.effects.push(effect),
            }
        }
    }

    /// Keys by name, separated by spaces: `n enter 1`.
    pub fn keys(&mut self, keys: &str) {
        for name in keys.split_whitespace() {
            let key = Key::parse(name).expect("a key");
            self.send(Message::Key(KeyEvent::new(key.code, key.modifiers)));
        }
    }

    pub fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            let event = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            self.send(Message::Key(event));
        }
    }

    /// The step's text as it is shown.
    pub fn text(&self) -> String {
        let lines = document(&self.model).lines;
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    pub fn notice(&self) -> &str {
        self.model
            .notice
            .as_ref()
            .map_or("", |notice| notice.text.as_str())
    }

    pub fn step(&self) -> &str {
        self.model
            .step
            .as_ref()
            .map_or("", |view| view.at.step.as_str())
    }

    /// The run that was asked to be started last, taken from the effects.
    pub fn started(&mut self) -> Option<RunId> {
        let position = self
            .effects
            .iter()
            .rposition(|effect| matches!(effect, Effect::StartRun { .. }))?;
        match self.effects.remove(position) {
            Effect::StartRun { id, .. } => Some(id),
            _ => None,
        }
    }

    /// The recording that was asked to be played last, taken from the effects.
    pub fn played(&mut self) -> Option<(RunId, String)> {
        let position = self
            .effects
            .iter()
            .rposition(|effect| matches!(effect, Effect::PlayRecording { .. }))?;
        match self.effects.remove(position) {
            Effect::PlayRecording { id, recording, .. } => Some((id, recording)),
            _ => None,
        }
    }

    /// Lets a run that was started go to its planned end.
    pub fn finish(&mut self, id: RunId) {
        let run = self.begin_run(id);
        for line in STREAM.lines() {
            let line = read_line(line);
            self.send(Message::RunLine { id, line });
        }
        let ending = Ending {
            exit: Some(RunExit::Status(0)),
            words: "The run ended as planned.".into(),
            remedy: None,
            stderr: String::new(),
        };
        self.send(Message::RunEnded {
            id,
            run: Some(run),
            ending,
        });
    }

    /// Lets a run begin, with its files in place; returns its id in the session.
    pub fn begin_run(&mut self, id: RunId) -> String {
        let run = format!("run-{}", id.0);
        let folder = self.session.place.runs().join(&run);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("events.jsonl"), STREAM).expect("a file");
        self.send(Message::RunStarted {
            id,
            run: run.clone(),
            command: vec!["tinyllama-tutor".into(), "run".into(), "v1".into()],
        });
        run
    }
}
