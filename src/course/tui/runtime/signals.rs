//! What signals mean to the full screen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::Sender;

use super::screen;
use crate::tutor::Face;

pub struct Screenful<M> {
    sender: Sender<M>,
    /// What to say when it goes on after a stop.
    continued: fn() -> M,
    lent: Arc<AtomicBool>,
}

impl<M> Screenful<M> {
    /// `lent` says whether another program has the terminal.
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
        // A terminal that is gone needs no restoring.
        let _ = screen::restore();
    }

    fn continued(&self) {
        // A loop that is too busy to listen draws anyway.
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
