//! Reactions of the full screen to signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::Sender;

use super::screen;
use tinyllama_tutor_core::Face;

pub struct Screenful<M> {
    sender: Sender<M>,
    /// Makes the message that is sent when the process goes on after a stop.
    continued: fn() -> M,
    lent: Arc<AtomicBool>,
}

impl<M> Screenful<M> {
    /// `lent` is true while another program has the terminal.
    pub fn new(sender: Sender<M>, continued: fn() -> M, lent: Arc<AtomicBool>) -> Self {
        Self {
            sender,
            continued,
            lent,
        }
    }
}

impl<M: Send> Face for Screenful<M> {
    fn restore(&self) {
        // Restoring fails if the terminal is gone, and then it is not needed.
        let _ = screen::restore();
    }

    fn continued(&self) {
        // If the queue is full, the event loop is busy and draws in any case.
        let _ = self.sender.try_send((self.continued)());
    }

    fn interrupted(&self) -> bool {
        self.lent.load(Ordering::SeqCst)
    }
}

/// Stops this process, as Ctrl-Z does, until a shell continues it.
pub fn stop_here() {
    // SAFETY: raise takes a number.
    unsafe { libc::raise(libc::SIGTSTP) };
}
