//! Carries out what [`super::update`] asks for: one loop, one channel, and work beside it.

pub(super) mod clerk;
mod documents;
mod hand_over;
mod input;
mod pace;
mod playback;
mod profile;
mod run;
mod screen;
mod signals;

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ratatui::layout::Rect;
use tokio::sync::{mpsc, oneshot, watch as watched};

use self::clerk::Clerk;
use self::documents::Desk;
use self::hand_over::Returned;
use self::input::Input;
use self::pace::Pace;
use self::playback::Tape;
use self::screen::Screen;
use super::highlight::Highlighter;
use super::keys::{self, Location};
use super::message::{Effect, Message, RunId};
use super::model::Model;
use super::theme::{Glyphs, Palette, Theme};
use super::update::{begin, update};
use super::view::draw;
use crate::lesson::Course;
use crate::recording::Library;
use crate::recording::play::Speed;
use crate::session::Session;
use crate::tutor::signals::{SharedSession, Watch, watch};
use crate::tutor::{Options, Processes, TutorError, gpu};

/// Messages that may wait. A run that prints faster than it can be shown waits, too.
const CHANNEL: usize = 1024;
/// Messages taken in before the next frame is considered.
const BATCH: usize = 512;

/// Runs the tutor on this terminal until the learner leaves it.
///
/// # Errors
/// When it cannot begin, or loses its terminal.
pub fn run(options: Options) -> Result<(), TutorError> {
    if !std::io::stdin().is_terminal() {
        return Err(TutorError::NoTerminal("the standard input"));
    }
    if !std::io::stdout().is_terminal() {
        return Err(TutorError::NoTerminal("the standard output"));
    }
    let location = match &options.keys {
        Some(path) => Location::Named(path.clone()),
        None => Location::Usual,
    };
    let keys = keys::load(&location).map_err(TutorError::Keys)?;
    let course = Arc::new(Course::load(&options.course)?);
    let mut session = Session::open(options.place.clone())?;
    session.opened(&course.title, &course.version)?;
    let theme = theme(&options);
    let state = Arc::new(session.state().clone());
    let mut model = Model::new(Arc::clone(&course), state, keys, theme);
    model.workbench = session.place.workbench();
    model.unsaved = session.unsaved();
    model.may_have_gpu = gpu::may_be_found(&options);
    match Library::load(options.recordings.clone()) {
        Ok(library) => model.recordings = Arc::new(library),
        Err(error) => model.warn(format!("{error}. {}", error.remedy())),
    }
    if !session.damage().is_empty() {
        model.warn(
            "Some lines of your session were damaged and left out; `session verify` shows them.",
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(TutorError::io("starting the tutor"))?;
    runtime.block_on(async { Tutor::start(options, course, session, model)?.run().await })
}

fn theme(options: &Options) -> Theme {
    let palette = if options.no_color {
        Palette::Mono
    } else {
        Palette::Ansi16
    };
    let glyphs = if options.ascii {
        Glyphs::ASCII
    } else {
        Glyphs::UNICODE
    };
    Theme::new(palette, glyphs)
}

/// The loop with everything it holds.
struct Tutor {
    options: Arc<Options>,
    model: Model,
    screen: Screen,
    /// None while another program has the terminal.
    input: Option<Input>,
    pace: Pace,
    started: Instant,
    clerk: Clerk,
    processes: Processes,
    sender: mpsc::Sender<Message>,
    receiver: mpsc::Receiver<Message>,
    /// How to stop each run.
    stops: HashMap<RunId, oneshot::Sender<()>>,
    /// How fast each recording is played.
    speeds: HashMap<RunId, watched::Sender<Speed>>,
    returns: mpsc::UnboundedSender<Returned>,
    returned: mpsc::UnboundedReceiver<Returned>,
    signals: Watch,
    /// Whether another program has the terminal.
    lent: Arc<AtomicBool>,
    /// Where runs are kept.
    root: std::path::PathBuf,
}

impl Tutor {
    fn start(
        options: Options,
        course: Arc<Course>,
        session: Session,
        model: Model,
    ) -> Result<Self, TutorError> {
        let root = session.place.folder.clone();
        let session: SharedSession = Arc::new(Mutex::new(Some(session)));
        let processes = Processes::default();
        let (sender, receiver) = mpsc::channel(CHANNEL);
        let (returns, returned) = mpsc::unbounded_channel();
        screen::restore_on_panic(Arc::clone(&session), processes.clone());
        let lent = Arc::new(AtomicBool::new(false));
        let face = signals::Screenful::new(sender.clone(), Arc::clone(&lent));
        let signals = watch(Arc::clone(&session), processes.clone(), Arc::new(face))
            .map_err(TutorError::io("listening for signals"))?;
        let clerk = Clerk::start(session, course, sender.clone(), options.in_class);
        let screen =
            Screen::enter(options.mouse).map_err(TutorError::io("setting up the terminal"))?;
        Ok(Self {
            options: Arc::new(options),
            model,
            screen,
            input: Some(Input::start()),
            pace: Pace::from_environment(),
            started: Instant::now(),
            clerk,
            processes,
            sender,
            receiver,
            stops: HashMap::new(),
            speeds: HashMap::new(),
            returns,
            returned,
            signals,
            lent,
            root,
        })
    }

    async fn run(mut self) -> Result<(), TutorError> {
        let result = self.until_quit().await;
        // Also after an error: runs are ended and the session is closed.
        self.end().await;
        result
    }

    async fn until_quit(&mut self) -> Result<(), TutorError> {
        self.model.size = screen::size().unwrap_or((80, 24));
        let effects = begin(&mut self.model);
        // The first frame does not wait for what the effects find out.
        self.draw()?;
        self.carry_out_all(effects)?;
        while !self.model.quitting {
            self.turn().await?;
            if self.model.dirty && self.has_terminal() && self.pace.may_draw() {
                self.draw()?;
            }
        }
        Ok(())
    }

    /// Waits for whatever comes first, and takes it in with all that waits behind it.
    async fn turn(&mut self) -> Result<(), TutorError> {
        let frame = (self.model.dirty && self.has_terminal()).then(|| self.pace.next_frame());
        let first = tokio::select! {
            biased;
            message = input::next(&mut self.input) => {
                // What a learner does shows at once.
                self.pace.hurry();
                message?
            }
            Some(returned) = self.returned.recv() => {
                return self.take_back(returned);
            }
            Some(message) = self.receiver.recv() => Some(message),
            () = pace::until(frame) => None,
        };
        let Some(first) = first else { return Ok(()) };
        self.take_in(first)?;
        for _ in 0..BATCH {
            match self.receiver.try_recv() {
                Ok(message) => self.take_in(message)?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn take_in(&mut self, message: Message) -> Result<(), TutorError> {
        #[cfg(debug_assertions)]
        panic_if_asked(&message);
        self.model.now = self.started.elapsed();
        if matches!(message, Message::Continued) && !self.has_terminal() {
            // The other program has the terminal; it will draw for itself.
            return Ok(());
        }
        // A message that changes nothing must not hide that one before it did.
        let was_dirty = self.model.dirty;
        let effects = update(&mut self.model, message);
        self.model.dirty |= was_dirty;
        self.carry_out_all(effects)
    }

    fn has_terminal(&self) -> bool {
        self.input.is_some()
    }

    fn draw(&mut self) -> Result<(), TutorError> {
        let (columns, rows) = self.model.size;
        let area = Rect::new(0, 0, columns, rows);
        let model = &self.model;
        let bytes = self
            .screen
            .draw(area, |buffer| draw(model, area, buffer))
            .map_err(TutorError::io("drawing"))?;
        self.model.dirty = false;
        self.pace.drawn(bytes);
        Ok(())
    }

    fn carry_out_all(&mut self, effects: Vec<Effect>) -> Result<(), TutorError> {
        effects
            .into_iter()
            .try_for_each(|effect| self.carry_out(effect))
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), TutorError> {
        match effect {
            Effect::Session(request) => self.clerk.ask(request),
            Effect::StartRun { id, target, flags } => self.start_run(id, &target, &flags),
            Effect::PlayRecording {
                id,
                recording,
                speed,
            } => self.play(id, &recording, speed),
            Effect::SetSpeed(id, speed) => {
                if let Some(sender) = self.speeds.get(&id) {
                    // The recording may just have come to its end.
                    let _ = sender.send(speed);
                }
            }
            Effect::StopRun(id) => {
                if let Some(stop) = self.stops.remove(&id) {
                    // The run may just have ended by itself.
                    let _ = stop.send(());
                }
            }
            Effect::HandOver(request) => return self.hand_over(request),
            Effect::PrepareProfile {
                at,
                tool,
                target,
                flags,
            } => profile::prepare(self.job(), at, tool, target, flags),
            Effect::RunProfile { at, target, line } => profile::run(self.job(), at, target, line),
            Effect::ImportProfile { at, target, path } => {
                profile::import(self.job(), at, target, path);
            }
            Effect::PreviewReport => self.desk().preview_report(),
            Effect::ExportReport => self.desk().export_report(),
            Effect::PlaceUnderRoofline(run) => self.desk().place_under_roofline(run),
            Effect::LoadHighlighter => self.load_highlighter(),
            Effect::Suspend => return self.suspend(),
            Effect::Redraw => {
                self.screen
                    .enter_again()
                    .map_err(TutorError::io("setting up the terminal"))?;
                if let Ok(size) = screen::size() {
                    self.model.size = size;
                }
                self.model.dirty = true;
                self.pace.hurry();
            }
            Effect::Quit => {}
        }
        Ok(())
    }

    fn job(&self) -> profile::Job {
        profile::Job {
            options: Arc::clone(&self.options),
            root: self.root.clone(),
            sender: self.sender.clone(),
        }
    }

    fn start_run(&mut self, id: RunId, target: &str, flags: &[String]) {
        let (stop, stopped) = oneshot::channel();
        self.stops.insert(id, stop);
        let command = self.options.run_command(target, flags);
        tokio::spawn(run::drive(
            id,
            command,
            self.root.clone(),
            self.processes.clone(),
            self.sender.clone(),
            stopped,
        ));
    }

    fn play(&mut self, id: RunId, recording: &str, speed: Speed) {
        let (stop, stopped) = oneshot::channel();
        self.stops.insert(id, stop);
        let (sender, speed) = watched::channel(speed);
        self.speeds.insert(id, sender);
        let library = &self.model.recordings;
        let tape = library.find(recording).and_then(|recording| {
            let lines = library.stream(recording)?;
            Ok(Tape {
                recording: recording.clone(),
                lines,
            })
        });
        tokio::spawn(playback::drive(
            id,
            tape.map_err(Into::into),
            self.root.clone(),
            self.sender.clone(),
            speed,
            stopped,
        ));
    }

    fn desk(&self) -> Desk {
        Desk {
            options: Arc::clone(&self.options),
            course: Arc::clone(&self.model.course),
            sender: self.sender.clone(),
        }
    }

    fn load_highlighter(&self) {
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            let highlighter = Arc::new(Highlighter::load());
            // Nobody is left to colour code for when the tutor ends first.
            let _ = sender.blocking_send(Message::Highlighter(highlighter));
        });
    }

    /// Stops for the shell until it says `fg`.
    fn suspend(&mut self) -> Result<(), TutorError> {
        self.screen
            .leave()
            .map_err(TutorError::io("giving back the terminal"))?;
        signals::stop_here();
        self.carry_out(Effect::Redraw)
    }

    /// Ends runs, waits for the session, gives the terminal back.
    async fn end(mut self) {
        self.signals.done();
        self.input = None;
        // The terminal first: waiting for a run to end must not look like hanging. One that is gone needs no leaving.
        let _ = self.screen.leave();
        if self.model.running().is_some() {
            eprintln!("Ending the run…");
        }
        let processes = self.processes.clone();
        let ended = tokio::task::spawn_blocking(move || processes.end(run::GRACE));
        let _ = ended.await;
        self.clerk.close();
    }
}

/// For the test of what a panic leaves behind: names the key that causes one.
#[cfg(debug_assertions)]
fn panic_if_asked(message: &Message) {
    if let (Message::Key(event), Ok(name)) = (message, std::env::var("TINYLLAMA_TUTOR_PANIC")) {
        assert!(
            keys::Key::of(event).to_string() != name,
            "a panic was asked for"
        );
    }
}
