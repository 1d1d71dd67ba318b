//! The loop of every full screen: waits for whatever comes first, has it taken in with all that waits behind it, and draws.

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
use super::screen::{self, Device, Screen, Tty};
use crate::tutor::TutorError;

/// Messages that may wait. A run that prints faster than it can be shown waits, too.
pub const CHANNEL: usize = 1024;
/// Messages taken in before the next frame is considered.
const BATCH: usize = 512;

/// So many keys at once are a paste.
const PASTED: usize = 64;
/// How long the rest of a paste may take to come.
const PAUSE: Duration = Duration::from_millis(40);

/// Keys, pastes, turns of the wheel, new sizes. Dropping it leaves the keys to another program.
pub type Input = Pin<Box<dyn Stream<Item = io::Result<Event>> + Send>>;

/// What is shown.
pub trait Play {
    type Message;
    type Error: From<TutorError>;

    /// The learner did something.
    fn hear(&mut self, event: Event, stage: &mut Stage) -> Result<(), Self::Error>;

    /// Something else happened.
    fn take_in(&mut self, message: Self::Message, stage: &mut Stage) -> Result<(), Self::Error>;

    /// Draws everything, and says where the cursor belongs.
    fn draw(&self, area: Rect, buffer: &mut Buffer) -> Option<Position>;

    /// Whether something changed since the last frame.
    fn dirty(&mut self) -> &mut bool;

    fn is_over(&self) -> bool;
}

/// The terminal with its keys.
pub struct Stage {
    screen: Screen,
    /// None while another program has the terminal.
    input: Option<Input>,
    listen: Box<dyn Fn() -> Input + Send>,
    /// Reads what a paste left in the terminal.
    rest: fn() -> String,
    pace: Pace,
    /// Columns and rows.
    pub size: (u16, u16),
}

impl Stage {
    /// On the terminal this program was started in.
    pub fn enter(mouse: bool) -> Result<Self, TutorError> {
        let stage = Self::on(Tty { mouse }, || Box::pin(EventStream::new()))?;
        Ok(Self {
            rest: screen::waiting,
            ..stage
        })
    }

    pub fn on(
        device: impl Device + 'static,
        listen: impl Fn() -> Input + Send + 'static,
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

    /// Until the play is over.
    pub async fn hold<P: Play>(
        &mut self,
        play: &mut P,
        messages: &mut mpsc::Receiver<P::Message>,
    ) -> Result<(), P::Error> {
        self.show(play)?;
        while !play.is_over() {
            self.turn(play, messages).await?;
            self.show(play)?;
        }
        Ok(())
    }

    /// Waits for whatever comes first, and has it taken in with all that waits behind it.
    pub async fn turn<P: Play>(
        &mut self,
        play: &mut P,
        messages: &mut mpsc::Receiver<P::Message>,
    ) -> Result<(), P::Error> {
        let frame = (*play.dirty() && self.has_terminal()).then(|| self.pace.next_frame());
        tokio::select! {
            biased;
            event = next(&mut self.input) => {
                let event = event?;
                // What a learner does shows at once.
                self.pace.hurry();
                for event in self.with_all_that_wait(event).await? {
                    if let Event::Resize(columns, rows) = event {
                        self.size = (columns, rows);
                    }
                    play.hear(event, self)?;
                    if play.is_over() {
                        break;
                    }
                }
            }
            Some(message) = messages.recv() => play.take_in(message, self)?,
            () = pace::until(frame) => return Ok(()),
        }
        for _ in 0..BATCH {
            match messages.try_recv() {
                Ok(message) => play.take_in(message, self)?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// An event with those that came with it. More keys at once than anybody types are the paste of a terminal that does
    /// not say so, and are told as one.
    async fn with_all_that_wait(&mut self, first: Event) -> Result<Vec<Event>, TutorError> {
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
                    // The reader of keys takes a thousand bytes at a time and does not ask for the others.
                    let left = (self.rest)();
                    if !left.is_empty() {
                        rest.push_str(&left);
                        continue;
                    }
                    // The end of a paste may be on its way.
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

    /// Draws, if something changed and the time for it has come.
    pub fn show<P: Play>(&mut self, play: &mut P) -> Result<(), TutorError> {
        if !*play.dirty() || !self.has_terminal() || !self.pace.may_draw() {
            return Ok(());
        }
        let (columns, rows) = self.size;
        let area = Rect::new(0, 0, columns, rows);
        let bytes = self
            .screen
            .draw(area, |buffer| play.draw(area, buffer))
            .map_err(TutorError::io("drawing"))?;
        *play.dirty() = false;
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
    pub fn lend(&mut self) -> Result<(), TutorError> {
        self.input = None;
        self.screen
            .leave()
            .map_err(TutorError::io("giving the terminal away"))
    }

    /// Has the terminal again, whatever was done with it; everything is to be drawn anew.
    pub fn take_back(&mut self) -> Result<(), TutorError> {
        self.screen
            .enter_again()
            .map_err(TutorError::io("setting up the terminal"))?;
        self.size = self.screen.size().unwrap_or(self.size);
        self.pace.hurry();
        self.input.get_or_insert_with(&self.listen);
        Ok(())
    }
}

/// What a key stands for in a text.
fn typed(event: &Event) -> Option<char> {
    let key = event.as_key_event().filter(|key| !key.is_release())?;
    match key.code {
        KeyCode::Enter => Some('\n'),
        KeyCode::Tab => Some('\t'),
        code => code.as_char(),
    }
}

/// The next event. Without a reader it waits for ever.
async fn next(input: &mut Option<Input>) -> Result<Event, TutorError> {
    let Some(stream) = input else {
        return std::future::pending().await;
    };
    match stream.next().await {
        Some(event) => event.map_err(TutorError::io("reading keys")),
        None => Err(TutorError::NoTerminal("the standard input")),
    }
}
