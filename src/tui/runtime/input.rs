//! Keys from the terminal, as messages.

use crossterm::event::{Event, EventStream, MouseEventKind};
use tokio_stream::StreamExt;

use crate::tui::message::Message;
use crate::tutor::TutorError;

/// Lines a turn of the wheel moves.
const WHEEL: i16 = 3;

/// The reader. Dropping it leaves the keys to another program.
pub struct Input(EventStream);

impl Input {
    pub fn start() -> Self {
        Self(EventStream::new())
    }
}

/// The next message; none for an event that means nothing here. Without a reader it waits for ever.
///
/// # Errors
/// When the terminal is gone.
pub async fn next(input: &mut Option<Input>) -> Result<Option<Message>, TutorError> {
    let Some(Input(stream)) = input else {
        return std::future::pending().await;
    };
    match stream.next().await {
        Some(Ok(event)) => Ok(message(event)),
        Some(Err(error)) => Err(TutorError::io("reading keys")(error)),
        None => Err(TutorError::NoTerminal("the standard input")),
    }
}

fn message(event: Event) -> Option<Message> {
    match event {
        Event::Key(key) => Some(Message::Key(key)),
        Event::Paste(text) => Some(Message::Paste(text)),
        Event::Resize(columns, rows) => Some(Message::Resize(columns, rows)),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(Message::Wheel(-WHEEL)),
            MouseEventKind::ScrollDown => Some(Message::Wheel(WHEEL)),
            _ => None,
        },
        _ => None,
    }
}
