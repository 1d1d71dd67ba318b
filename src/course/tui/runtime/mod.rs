//! Runs the tutor: the event loop carries out the effects that [`super::update`] asks for, and threads do slow work.

pub(super) mod clerk;
mod hand_over;
mod pace;
mod run;
pub(super) mod screen;
mod signals;
pub(super) mod stage;

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crossterm::event::Event;
use ratatui::prelude::{Buffer, Position, Rect};
use tokio::sync::mpsc;

use self::clerk::Clerk;
pub use self::signals::Screenful;
use self::stage::{CHANNEL, Play, Stage};
use super::update::{begin, update};
use super::view::draw;
use crate::lesson::Course;
use crate::recording::Library;
use crate::run::{Control, Processes, Speed, Start, UsageError};
use crate::session::turns::{self, Repeat};
use crate::session::{Session, SessionError, State};
use crate::tui::{Desk, Effect, HandOver, Message, Model, RunId, Theme, Work, keys};
use crate::tutor::prepare::Background;
use crate::tutor::signals::Watch;
use crate::tutor::{Job, Options, SharedSession, TutorError, gpu, tape, watch};

/// Runs the tutor on this terminal until the learner leaves it.
///
/// # Errors
/// If the tutor cannot start, or loses its terminal.
pub fn run(options: Options) -> Result<(), TutorError> {
    if !std::io::stdin().is_terminal() {
        return Err(TutorError::NoTerminal("the standard input"));
    }
    if !std::io::stdout().is_terminal() {
        return Err(TutorError::NoTerminal("the standard output"));
    }
    let keys = keys::load(options.keys.as_deref()).map_err(TutorError::Keys)?;
    let course = Arc::new(Course::load(&options.course)?);
    let mut session = Session::open(options.place.clone())?;
    let unread = unread(session.state());
    session.opened(&course.title, &course.version)?;
    let theme = Theme::of(options.no_color, options.ascii);
    let state = Arc::new(session.state().clone());
    // From here on the session passes its news to the screen.
    session.news();
    let mut model = Model::new(Arc::clone(&course), state, keys, theme);
    model.workbench = session.place.workbench();
    model.unsaved = session.unsaved();
    model.messages_seen = model.messages_seen.saturating_sub(unread);
    model.may_have_gpu = gpu::may_be_found(&options);
    match Library::load(options.recordings.clone()) {
        Ok(library) => model.recordings = Arc::new(library),
        Err(error) => drop(model.warn(format!("{error}. {}", error.remedy()))),
    }
    if !session.damage.is_empty() {
        model.warn(
            "Some lines of your session were damaged and left out; `session verify` shows them.",
        );
    }
    on_one_thread()?.block_on(hold(options, course, session, model))
}

/// Counts the messages that came since the learner last did anything.
fn unread(state: &State) -> usize {
    let messages = state.messages.iter();
    // All times have the same form, so their text sorts in time order.
    messages.filter(|it| it.time > state.last_active).count()
}

/// Builds a runtime that waits for several things at once on the calling thread.
pub fn on_one_thread() -> Result<tokio::runtime::Runtime, TutorError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(TutorError::io("starting the tutor"))
}

async fn hold(
    options: Options,
    course: Arc<Course>,
    session: Session,
    model: Model,
) -> Result<(), TutorError> {
    let (sender, mut messages) = mpsc::channel(CHANNEL);
    let runs = Arc::clone(&session.runs);
    let session = SharedSession::new(session);
    let processes = Processes::default();
    let lent = Arc::new(AtomicBool::new(false));
    let face = Screenful::new(sender.clone(), || Message::Continued, Arc::clone(&lent));
    let (mut stage, signals) = set_up(options.mouse, &session, &processes, face)?;
    let preparing = Background::default();
    // Without a GPU there is nothing to compile. Behind a launcher, compiling would take another learner's
    // turn on the GPU.
    if model.may_have_gpu && options.launcher.is_local() {
        let class = options.place.folder.parent();
        preparing.start(
            &options.launcher.program,
            class.filter(|_| options.in_class),
        );
    }
    let staff = Staff {
        clerk: Clerk::start(
            session,
            Arc::clone(&course),
            sender.clone(),
            options.in_class,
        ),
        desk: Desk {
            options: Arc::new(options),
            course,
            runs,
            sender,
        },
        processes,
        lent,
        controls: HashMap::new(),
        second: None,
        preparing,
    };
    let mut tutor = Tutor::new(model, staff);
    let result = match tutor.begin(&mut stage) {
        Ok(()) => stage.hold(&mut tutor, &mut messages).await,
        Err(error) => Err(error),
    };
    // This also happens after an error: the runs end and the session closes.
    signals.done();
    // Closing the channel ends every send that waits; the tutor must not wait for one.
    messages.close();
    // The terminal is given back first, because waiting for a run to end must not look like hanging.
    // If the terminal is gone, leaving it fails and the error does not matter.
    let _ = stage.lend();
    let is_running = tutor.model.running().is_some();
    let kept = tutor.hands.end(is_running).await;
    result.and(kept.map_err(TutorError::from))
}

/// Takes the terminal, and makes sure that a panic or a signal gives it back.
pub fn set_up<M: Send + 'static>(
    mouse: bool,
    session: &SharedSession,
    processes: &Processes,
    face: Screenful<M>,
) -> Result<(Stage, Watch), TutorError> {
    screen::restore_on_panic(session.clone(), processes.clone());
    let signals = watch(session.clone(), processes.clone(), Arc::new(face))
        .map_err(TutorError::io("listening for signals"))?;
    Ok((Stage::enter(mouse)?, signals))
}

/// Carries out effects that reach beyond the screen.
pub trait Hands {
    fn carry_out(&mut self, effect: Effect, model: &Model);

    /// Prepares the work of a program that needs the terminal.
    ///
    /// # Errors
    /// A message for the learner, if the program cannot be started.
    fn prepare(&mut self, request: HandOver) -> Result<Work, String>;

    /// Starts work that `prepare` returned. The caller has freed the terminal.
    fn lend(&mut self, work: Work);

    /// The tutor has the terminal again.
    fn take_back(&mut self);
}

/// The model, and the handler of the effects that follow from it.
pub struct Tutor<H> {
    pub model: Model,
    pub hands: H,
    pub started: Instant,
}

impl<H: Hands> Tutor<H> {
    pub fn new(model: Model, hands: H) -> Self {
        let started = Instant::now();
        Self {
            model,
            hands,
            started,
        }
    }

    pub fn begin(&mut self, stage: &mut Stage) -> Result<(), TutorError> {
        self.model.size = stage.size;
        let effects = begin(&mut self.model);
        self.carry_out(effects, stage)
    }

    fn carry_out(&mut self, effects: Vec<Effect>, stage: &mut Stage) -> Result<(), TutorError> {
        for effect in effects {
            match effect {
                Effect::HandOver(request) => match self.hands.prepare(request) {
                    Ok(work) => {
                        stage.lend()?;
                        self.hands.lend(work);
                    }
                    Err(problem) => drop(self.model.warn(problem)),
                },
                // The process stops here until the shell says `fg`.
                Effect::Suspend => {
                    stage.lend()?;
                    signals::stop_here();
                    self.redraw(stage)?;
                }
                Effect::Redraw => self.redraw(stage)?,
                Effect::Copy(text) => stage.copy(&text)?,
                effect => self.hands.carry_out(effect, &self.model),
            }
        }
        Ok(())
    }

    fn redraw(&mut self, stage: &mut Stage) -> Result<(), TutorError> {
        stage.take_back()?;
        self.model.size = stage.size;
        self.model.dirty = true;
        Ok(())
    }
}

impl<H: Hands> Play for Tutor<H> {
    type Message = Message;
    type Error = TutorError;

    fn hear(&mut self, event: Event, stage: &mut Stage) -> Result<(), TutorError> {
        self.take_in(Message::Input(event), stage)
    }

    fn take_in(&mut self, message: Message, stage: &mut Stage) -> Result<(), TutorError> {
        #[cfg(debug_assertions)]
        panic_if_asked(&message);
        self.model.now = self.started.elapsed();
        match message {
            // The other program has the terminal and draws its own screen.
            Message::Continued if !stage.has_terminal() => return Ok(()),
            Message::Back => self.hands.take_back(),
            _ => {}
        }
        // A message that changes nothing must not clear the flag that an earlier message set.
        let was_dirty = self.model.dirty;
        let effects = update(&mut self.model, message);
        self.model.dirty |= was_dirty;
        self.carry_out(effects, stage)
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        draw(&self.model, area, buffer)
    }

    fn dirty(&mut self) -> &mut bool {
        &mut self.model.dirty
    }

    fn is_over(&self) -> bool {
        self.model.quitting
    }
}

/// Carries out effects with the session's thread, child processes and worker threads.
struct Staff {
    clerk: Clerk,
    desk: Desk,
    processes: Processes,
    /// True if another program has the terminal.
    lent: Arc<AtomicBool>,
    /// One entry per run: stops it, or changes the speed of a recording.
    controls: HashMap<RunId, Control>,
    /// The second run of the round that is under way.
    second: Option<(Repeat, Start)>,
    /// Compiles in the background what the learner will run.
    preparing: Background,
}

impl Hands for Staff {
    fn carry_out(&mut self, effect: Effect, model: &Model) {
        match effect {
            Effect::Session(request) => self.clerk.ask(request),
            Effect::StartRun {
                id,
                job,
                flags,
                round,
            } => {
                let start = self.start(&job, &flags, round.as_deref());
                self.start_run(id, false, Speed::Real, move || Ok(start?));
            }
            Effect::PlayRecording {
                id,
                recording,
                speed,
            } => {
                let library = Arc::clone(&model.recordings);
                self.start_run(id, true, speed, move || {
                    Ok(Start::Recording(tape(&library, &recording)?))
                });
            }
            Effect::SetSpeed(id, speed) => {
                if let Some(control) = self.controls.get(&id) {
                    control.set_speed(speed);
                }
            }
            Effect::StopRun(id) => {
                if let Some(control) = self.controls.get(&id) {
                    control.stop(libc::SIGTERM);
                }
            }
            Effect::Work(work) => self.desk.clone().begin(work),
            // The terminal's owner carries these out before they come here.
            Effect::HandOver(_) | Effect::Suspend | Effect::Redraw | Effect::Copy(_) => {}
        }
    }

    fn prepare(&mut self, request: HandOver) -> Result<Work, String> {
        hand_over::program(request, &self.desk.options.launcher)
    }

    fn lend(&mut self, work: Work) {
        self.lent.store(true, Ordering::SeqCst);
        self.desk.clone().begin(work);
    }

    fn take_back(&mut self) {
        self.lent.store(false, Ordering::SeqCst);
    }
}

impl Staff {
    /// Returns how to start a run. The first run of a round also creates the start of the second, and keeps it.
    fn start(
        &mut self,
        job: &Job,
        flags: &[String],
        round: Option<&[Repeat; 2]>,
    ) -> Result<Start, UsageError> {
        // Taking it drops a second run that is no longer expected.
        let begun = self.second.take();
        match (round, begun) {
            (Some(round), _) => {
                let [first, second] = turns::starts(&self.desk.options.launcher, round)?;
                self.second = Some((round[1].clone(), second));
                Ok(first)
            }
            (None, Some((run, start))) if run.flags == flags && run.target == job.name() => {
                Ok(start)
            }
            (None, _) => job.start(&self.desk.options, flags),
        }
    }

    fn start_run(
        &mut self,
        id: RunId,
        is_recording: bool,
        speed: Speed,
        start: impl FnOnce() -> anyhow::Result<Start> + Send + 'static,
    ) {
        let control = self.processes.control();
        control.set_speed(speed);
        self.controls.insert(id, control.clone());
        let preparing = self.preparing.clone();
        run::drive(self.desk.clone(), id, control, is_recording, move || {
            let aside = (!is_recording).then(|| preparing.aside());
            Ok((start()?, aside))
        });
    }

    /// Ends the runs and waits until the session is stored.
    async fn end(&mut self, is_running: bool) -> Result<(), SessionError> {
        if is_running {
            eprintln!("Ending the run…");
        }
        let preparing = self.preparing.clone();
        let processes = self.processes.clone();
        let ended = tokio::task::spawn_blocking(move || {
            processes.end(run::GRACE);
            preparing.end();
        });
        let _ = ended.await;
        self.clerk.close()
    }
}

/// Panics on the key that an environment variable names. A test checks what a panic leaves behind.
#[cfg(debug_assertions)]
fn panic_if_asked(message: &Message) {
    if let (Message::Input(Event::Key(event)), Ok(name)) =
        (message, std::env::var("TINYLLAMA_TUTOR_PANIC"))
    {
        assert!(
            keys::Key::of(event).to_string() != name,
            "a panic was asked for"
        );
    }
}
