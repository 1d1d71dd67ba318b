//! Runs the tutor: the event loop carries out the effects that [`super::update`] asks for, and threads do slow work.

pub(super) mod event_loop;
mod hand_over;
mod pace;
mod run;
pub(super) mod screen;
pub(super) mod session_writer;
mod signals;

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crossterm::event::Event;
use ratatui::prelude::{Buffer, Position, Rect};
use tokio::sync::mpsc;

use self::event_loop::{App, CHANNEL, TerminalGuard};
use self::session_writer::SessionWriter;
pub use self::signals::Screenful;
use super::model::log::LoggedKind;
use super::update::{begin, update};
use super::view::draw;
use crate::tui::{
    BackgroundTask, Effect, HandOver, Message, Model, RunId, TaskContext, Theme, keys,
};
use tinyllama_contract::flags::UsageError;
use tinyllama_lesson::Course;
use tinyllama_lesson::Job;
use tinyllama_runs::recording::Library;
use tinyllama_runs::{Control, Processes, RunStart, Speed};
use tinyllama_session::turns::{self, Repeat};
use tinyllama_session::{Session, SessionError, SessionState};
use tinyllama_tutor_core::prepare::Background;
use tinyllama_tutor_core::signals::Watch;
use tinyllama_tutor_core::{
    SharedSession, TutorError, TutorOptions, gpu, job, start_at, tape, watch,
};

/// Runs the tutor on this terminal until the learner leaves it.
///
/// # Errors
/// If the tutor cannot start, or loses its terminal.
pub fn run(options: TutorOptions) -> Result<(), TutorError> {
    if !std::io::stdin().is_terminal() {
        return Err(TutorError::NoTerminal("the standard input"));
    }
    if !std::io::stdout().is_terminal() {
        return Err(TutorError::NoTerminal("the standard output"));
    }
    let keys = keys::load(options.keys.as_deref()).map_err(TutorError::Keys)?;
    let course = Arc::new(Course::load(&options.course)?);
    let mut session = Session::open(options.location.clone())?;
    let unread = unread(session.state());
    session.record_opening(&course.title, &course.version)?;
    if let Some(name) = &options.from {
        start_at(&mut session, &course, name)?;
    }
    let theme = Theme::new(options.no_color, options.ascii);
    let state = Arc::new(session.state().clone());
    // From here on the session passes its news to the screen.
    session.news();
    let mut model = Model::new(Arc::clone(&course), state, keys, theme);
    model.workbench = session.location.workbench();
    model.unsaved = session.unsaved();
    model.program_commands.clone_from(&options.commands);
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
    on_one_thread()?.block_on(event_loop(options, course, session, model))
}

/// Counts what came from instructors since the learner last did anything.
fn unread(state: &SessionState) -> usize {
    let times = state.messages.iter().map(|it| &it.time);
    let times = times.chain(state.changes.iter().map(|(time, _)| time));
    // All times have the same form, so their text sorts in time order. They have whole seconds: what came in the second
    // of the learner's last action may not have been seen.
    times.filter(|time| **time >= state.last_active).count()
}

/// Builds a runtime that waits for several things at once on the calling thread.
pub fn on_one_thread() -> Result<tokio::runtime::Runtime, TutorError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(TutorError::io("starting the tutor"))
}

async fn event_loop(
    options: TutorOptions,
    course: Arc<Course>,
    session: Session,
    model: Model,
) -> Result<(), TutorError> {
    let (sender, mut messages) = mpsc::channel(CHANNEL);
    let runs = Arc::clone(&session.runs);
    let session = SharedSession::new(session);
    let processes = Processes::default();
    let terminal_lent = Arc::new(AtomicBool::new(false));
    let face = Screenful::new(
        sender.clone(),
        || Message::Continued,
        Arc::clone(&terminal_lent),
    );
    let (mut terminal, signals) = set_up(options.mouse, &session, &processes, face)?;
    let preparing = Background::default();
    // Without a GPU there is nothing to compile. Behind a launcher, compiling would take another learner's
    // turn on the GPU.
    if model.may_have_gpu && options.launcher.is_local() {
        let class = options.location.folder.parent();
        preparing.start(
            &options.launcher.program,
            class.filter(|_| options.in_class),
        );
    }
    let effects = ThreadedEffects {
        session_writer: SessionWriter::start(
            session,
            Arc::clone(&course),
            sender.clone(),
            options.in_class,
        ),
        context: TaskContext {
            options: Arc::new(options),
            course,
            runs,
            sender,
        },
        processes,
        terminal_lent,
        controls: HashMap::new(),
        second: None,
        preparing,
    };
    let mut tutor = Tutor::new(model, effects);
    let result = match tutor.begin(&mut terminal) {
        Ok(()) => terminal.event_loop(&mut tutor, &mut messages).await,
        Err(error) => Err(error),
    };
    // This also happens after an error: the runs end and the session closes.
    signals.done();
    // Closing the channel ends every send that waits; the tutor must not wait for one.
    messages.close();
    // The terminal is given back first, because waiting for a run to end must not look like hanging.
    // If the terminal is gone, leaving it fails and the error does not matter.
    let _ = terminal.suspend();
    let is_running = tutor.model.running().is_some();
    let kept = tutor.handler.end(is_running).await;
    result.and(kept.map_err(TutorError::from))
}

/// Takes the terminal, and makes sure that a panic or a signal gives it back.
pub fn set_up<M: Send + 'static>(
    mouse: bool,
    session: &SharedSession,
    processes: &Processes,
    face: Screenful<M>,
) -> Result<(TerminalGuard, Watch), TutorError> {
    screen::restore_on_panic(session.clone(), processes.clone());
    let signals = watch(session.clone(), processes.clone(), Arc::new(face))
        .map_err(TutorError::io("listening for signals"))?;
    Ok((TerminalGuard::enter(mouse)?, signals))
}

/// Carries out effects that reach beyond the screen.
pub trait EffectHandler {
    fn carry_out(&mut self, effect: Effect, model: &Model);

    /// Prepares the work of a program that needs the terminal.
    ///
    /// # Errors
    /// A message for the learner, if the program cannot be started.
    fn prepare(&mut self, request: HandOver) -> Result<BackgroundTask, String>;

    /// Starts work that `prepare` returned. The caller has freed the terminal.
    fn start_program(&mut self, work: BackgroundTask);

    /// The tutor has the terminal again.
    fn program_ended(&mut self);
}

/// The model, and the handler of the effects that follow from it.
pub struct Tutor<H> {
    pub model: Model,
    pub handler: H,
    pub started: Instant,
}

impl<H: EffectHandler> Tutor<H> {
    pub fn new(model: Model, handler: H) -> Self {
        let started = Instant::now();
        Self {
            model,
            handler,
            started,
        }
    }

    pub fn begin(&mut self, terminal: &mut TerminalGuard) -> Result<(), TutorError> {
        self.model.size = terminal.size;
        let effects = begin(&mut self.model);
        self.carry_out(effects, terminal)
    }

    fn carry_out(
        &mut self,
        effects: Vec<Effect>,
        terminal: &mut TerminalGuard,
    ) -> Result<(), TutorError> {
        for effect in effects {
            match effect {
                Effect::HandOver(request) => match self.handler.prepare(request) {
                    Ok(work) => {
                        terminal.suspend()?;
                        self.handler.start_program(work);
                    }
                    Err(problem) => {
                        let is_it = |kind: &LoggedKind| matches!(kind, LoggedKind::HandOver(_));
                        self.model.log_end("not started", is_it);
                        self.model.warn(problem);
                    }
                },
                // The process stops here until the shell says `fg`.
                Effect::Suspend => {
                    terminal.suspend()?;
                    signals::stop_here();
                    self.redraw(terminal)?;
                }
                Effect::Redraw => self.redraw(terminal)?,
                Effect::Copy(text) => terminal.copy(&text)?,
                effect => self.handler.carry_out(effect, &self.model),
            }
        }
        Ok(())
    }

    fn redraw(&mut self, terminal: &mut TerminalGuard) -> Result<(), TutorError> {
        terminal.resume()?;
        self.model.size = terminal.size;
        self.model.dirty = true;
        Ok(())
    }
}

impl<H: EffectHandler> App for Tutor<H> {
    type Message = Message;
    type Error = TutorError;

    fn on_terminal_event(
        &mut self,
        event: Event,
        terminal: &mut TerminalGuard,
    ) -> Result<(), TutorError> {
        self.on_message(Message::Input(event), terminal)
    }

    fn on_message(
        &mut self,
        message: Message,
        terminal: &mut TerminalGuard,
    ) -> Result<(), TutorError> {
        #[cfg(debug_assertions)]
        panic_if_asked(&message);
        self.model.now = self.started.elapsed();
        match message {
            // The other program has the terminal and draws its own screen.
            Message::Continued if !terminal.has_terminal() => return Ok(()),
            Message::Back(_) => self.handler.program_ended(),
            _ => {}
        }
        // A message that changes nothing must not clear the flag that an earlier message set.
        let was_dirty = self.model.dirty;
        let effects = update(&mut self.model, message);
        self.model.dirty |= was_dirty;
        self.carry_out(effects, terminal)
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
struct ThreadedEffects {
    session_writer: SessionWriter,
    context: TaskContext,
    processes: Processes,
    /// True if another program has the terminal.
    terminal_lent: Arc<AtomicBool>,
    /// One entry per run: stops it, or changes the speed of a recording.
    controls: HashMap<RunId, Control>,
    /// The second run of the round that is under way.
    second: Option<(Repeat, RunStart)>,
    /// Compiles in the background what the learner will run.
    preparing: Background,
}

impl EffectHandler for ThreadedEffects {
    fn carry_out(&mut self, effect: Effect, model: &Model) {
        match effect {
            Effect::Session(request) => self.session_writer.send(request),
            Effect::StartRun {
                id,
                job,
                flags,
                round,
            } => {
                let start = self.start(&job, &flags, round.as_deref());
                self.start_run(id, false, Speed::REAL, move || Ok(start?));
            }
            Effect::PlayRecording {
                id,
                recording,
                speed,
            } => {
                let library = Arc::clone(&model.recordings);
                self.start_run(id, true, speed, move || {
                    Ok(RunStart::Recording(tape(&library, &recording)?))
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
            Effect::Work(work) => self.context.clone().spawn(work),
            // The terminal's owner carries these out before they come here.
            Effect::HandOver(_) | Effect::Suspend | Effect::Redraw | Effect::Copy(_) => {}
        }
    }

    fn prepare(&mut self, request: HandOver) -> Result<BackgroundTask, String> {
        hand_over::program(request, &self.context.options)
    }

    fn start_program(&mut self, work: BackgroundTask) {
        self.terminal_lent.store(true, Ordering::SeqCst);
        self.context.clone().spawn(work);
    }

    fn program_ended(&mut self) {
        self.terminal_lent.store(false, Ordering::SeqCst);
    }
}

impl ThreadedEffects {
    /// Returns how to start a run. The first run of a round also creates the start of the second, and keeps it.
    fn start(
        &mut self,
        job: &Job,
        flags: &[String],
        round: Option<&[Repeat; 2]>,
    ) -> Result<RunStart, UsageError> {
        // Taking it drops a second run that is no longer expected.
        let begun = self.second.take();
        match (round, begun) {
            (Some(round), _) => {
                let [first, second] = turns::starts(&self.context.options.launcher, round)?;
                self.second = Some((round[1].clone(), second));
                Ok(first)
            }
            (None, Some((run, start))) if run.flags == flags && run.target == job.name() => {
                Ok(start)
            }
            (None, _) => job::start(job, &self.context.options, flags),
        }
    }

    fn start_run(
        &mut self,
        id: RunId,
        is_recording: bool,
        speed: Speed,
        start: impl FnOnce() -> anyhow::Result<RunStart> + Send + 'static,
    ) {
        let control = self.processes.control();
        control.set_speed(speed);
        self.controls.insert(id, control.clone());
        let preparing = self.preparing.clone();
        run::drive(self.context.clone(), id, control, is_recording, move || {
            let pause = (!is_recording).then(|| preparing.pause_guard());
            Ok((start()?, pause))
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
            processes.end_all(run::GRACE);
            preparing.end();
        });
        let _ = ended.await;
        self.session_writer.close()
    }
}

/// Panics on the key that an environment variable names. A test checks what a panic leaves behind.
#[cfg(debug_assertions)]
fn panic_if_asked(message: &Message) {
    if let (Message::Input(Event::Key(event)), Ok(name)) =
        (message, std::env::var("TINYLLAMA_TUTOR_PANIC"))
    {
        assert!(
            keys::Key::from_event(event).to_string() != name,
            "a panic was asked for"
        );
    }
}
