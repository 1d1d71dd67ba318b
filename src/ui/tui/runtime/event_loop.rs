//! The event loop of every full screen: waits for an event or message, handles all that have arrived, and draws.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode};
use ratatui::prelude::{Buffer, Position, Rect};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::{Stream, StreamExt};

use super::pace::{self, Pace};
use super::screen::{self, Screen, ScreenDevice, Tty};
use tinyllama_tutor_core::TutorError;

/// Messages that may wait. When it is full, a run that prints faster than the screen can show waits, too.
pub const CHANNEL: usize = 1024;
/// Messages handled before the loop considers the next frame.
const BATCH: usize = 512;

/// This many keys at once count as a paste.
const PASTED: usize = 64;
/// Longest gap within a paste.
const PAUSE: Duration = Duration::from_millis(40);

/// Stream of keys, pastes, mouse wheel turns and new sizes. Dropping it leaves the keys to another program.
pub type TerminalInput = Pin<Box<dyn Stream<Item = io::Result<Event>> + Send>>;

/// A full-screen application.
pub trait App {
    type Message;
    type Error: From<TutorError>;

    /// Handles an event from the learner.
    fn on_terminal_event(
        &mut self,
        event: Event,
        terminal: &mut TerminalGuard,
    ) -> Result<(), Self::Error>;

    /// Handles a message from a thread.
    fn on_message(
        &mut self,
        message: Self::Message,
        terminal: &mut TerminalGuard,
    ) -> Result<(), Self::Error>;

    /// Draws everything and returns the position of the cursor.
    fn draw(&self, area: Rect, buffer: &mut Buffer) -> Option<Position>;

    /// The flag for a change since the last frame; the loop clears it after drawing.
    fn dirty(&mut self) -> &mut bool;

    fn is_over(&self) -> bool;
}

/// The terminal: its screen, its input and the pace of its frames.
pub struct TerminalGuard {
    screen: Screen,
    /// `None` while another program has the terminal.
    input: Option<TerminalInput>,
    listen: Box<dyn Fn() -> TerminalInput + Send>,
    /// Reads the bytes of a paste that still wait in the terminal.
    rest: fn() -> String,
    pace: Pace,
    /// Columns and rows.
    pub size: (u16, u16),
}

impl TerminalGuard {
    /// Enters the terminal in which this program was started.
    pub fn enter(mouse: bool) -> Result<Self, TutorError> {
        let terminal = Self::on_device(Tty { mouse }, || Box::pin(EventStream::new()))?;
        Ok(Self {
            rest: screen::waiting,
            ..terminal
        })
    }

    pub fn on_device(
        device: impl ScreenDevice + 'static,
        listen: impl Fn() -> TerminalInput + Send + 'static,
    ) -> Result<Self, TutorError> {
        let screen = Screen::enter(device).map_err(TutorError::io("setting up the terminal"))?;
        Ok(Self {
            size: screen.size().unwrap_or((80, 24)),
            input: Some(listen()),
            listen: Box::new(listen),
            rest: String::new,
            screen,
            pace: Pace::from_environment(),
        })
    }

    /// Runs the loop until the application is over.
    pub async fn event_loop<P: App>(
        &mut self,
        app: &mut P,
        messages: &mut mpsc::Receiver<P::Message>,
    ) -> Result<(), P::Error> {
        self.show(app)?;
        while !app.is_over() {
            self.handle_arrived(app, messages).await?;
            self.show(app)?;
        }
        Ok(())
    }

    /// Waits for the first event or message, then handles it and all that have arrived since.
    pub async fn handle_arrived<P: App>(
        &mut self,
        app: &mut P,
        messages: &mut mpsc::Receiver<P::Message>,
    ) -> Result<(), P::Error> {
        let frame = (*app.dirty() && self.has_terminal()).then(|| self.pace.next_frame());
        tokio::select! {
            biased;
            event = next(&mut self.input) => {
                let event = event?;
                // The screen answers the learner at once.
                self.pace.hurry();
                for event in self.with_pending_events(event).await? {
                    if let Event::Resize(columns, rows) = event {
                        self.size = (columns, rows);
                        self.screen.forget();
                    }
                    app.on_terminal_event(event, self)?;
                    if app.is_over() {
                        break;
                    }
                }
            }
            Some(message) = messages.recv() => app.on_message(message, self)?,
            () = pace::wait_until(frame) => return Ok(()),
        }
        for _ in 0..BATCH {
            match messages.try_recv() {
                Ok(message) => app.on_message(message, self)?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Returns an event and those that came with it. More keys at once than a person types are a paste from a
    /// terminal that does not mark pastes; they become one paste event.
    async fn with_pending_events(&mut self, first: Event) -> Result<Vec<Event>, TutorError> {
        let mut events = vec![first];
        let mut rest = String::new();
        loop {
            let waits = poll_fn(|context| {
                Poll::Ready(match &mut self.input {
                    Some(input) => input.as_mut().poll_next(context),
                    None => Poll::Pending,
                })
            });
            match waits.await {
                Poll::Ready(Some(event)) => {
                    events.push(event.map_err(TutorError::io("reading keys"))?);
                }
                Poll::Ready(None) => break,
                Poll::Pending if events.len() < PASTED => break,
                Poll::Pending => {
                    // The key reader takes a thousand bytes at a time and leaves the others in the queue.
                    let left = (self.rest)();
                    if !left.is_empty() {
                        rest.push_str(&left);
                        continue;
                    }
                    // The end of the paste may still be on its way.
                    match timeout(PAUSE, next(&mut self.input)).await {
                        Ok(event) => events.push(event?),
                        Err(_) => match (self.rest)() {
                            left if left.is_empty() => break,
                            left => rest.push_str(&left),
                        },
                    }
                }
            }
        }
        if events.len() < PASTED {
            return Ok(events);
        }
        let typed = events.iter().filter_map(typed);
        let pasted = Event::Paste(typed.chain(rest.chars()).collect());
        let others = events
            .into_iter()
            .filter(|event| !matches!(event, Event::Key(_)));
        Ok(others.chain([pasted]).collect())
    }

    /// Draws if something changed and the pace allows a frame.
    pub fn show<P: App>(&mut self, app: &mut P) -> Result<(), TutorError> {
        if !*app.dirty() || !self.has_terminal() || !self.pace.may_draw() {
            return Ok(());
        }
        let (columns, rows) = self.size;
        let area = Rect::new(0, 0, columns, rows);
        let bytes = self
            .screen
            .draw(area, |buffer| app.draw(area, buffer))
            .map_err(TutorError::io("drawing"))?;
        *app.dirty() = false;
        self.pace.drawn(bytes);
        Ok(())
    }

    /// Puts a text into the clipboard of the terminal, which may be on another machine.
    pub fn copy(&mut self, text: &str) -> Result<(), TutorError> {
        let in_tmux = std::env::var_os("TMUX").is_some();
        let copied = self.screen.copy(text, in_tmux);
        copied.map_err(TutorError::io("copying"))
    }

    pub fn has_terminal(&self) -> bool {
        self.input.is_some()
    }

    /// Leaves the terminal and its keys to another program.
    pub fn suspend(&mut self) -> Result<(), TutorError> {
        self.input = None;
        self.screen
            .leave()
            .map_err(TutorError::io("handing over the terminal"))
    }

    /// Enters the terminal again and has everything drawn anew, because the other program may have changed anything.
    pub fn resume(&mut self) -> Result<(), TutorError> {
        self.screen
            .enter_again()
            .map_err(TutorError::io("setting up the terminal"))?;
        self.size = self.screen.size().unwrap_or(self.size);
        self.pace.hurry();
        self.input.get_or_insert_with(&self.listen);
        Ok(())
    }
}

/// The character that a key enters into a text.
fn typed(event: &Event) -> Option<char> {
    let key = event.as_key_event().filter(|key| !key.is_release())?;
    match key.code {
        KeyCode::Enter => Some('\n'),
        KeyCode::Tab => Some('\t'),
        code => code.as_char(),
    }
}

/// Returns the next event. Waits for ever if there is no input.
async fn next(input: &mut Option<TerminalInput>) -> Result<Event, TutorError> {
    let Some(stream) = input else {
        return std::future::pending().await;
    };
    match stream.next().await {
        Some(event) => event.map_err(TutorError::io("reading keys")),
        None => Err(TutorError::NoTerminal("the standard input")),
    }
}
