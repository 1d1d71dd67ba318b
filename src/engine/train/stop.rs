//! Asks a run to stop.

use std::io::ErrorKind;
use std::sync::Arc;

use parking_lot::Mutex;

/// Why a run was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// A signal, by number.
    Signal(i32),
    /// The output cannot be written, for example because its reader is gone.
    OutputClosed(ErrorKind),
}

/// A stop request that all clones share. It is set once.
#[derive(Clone, Debug, Default)]
pub struct StopSignal(Arc<Mutex<Option<StopReason>>>);

impl StopSignal {
    /// Asks for a stop; the first reason stays.
    pub fn request(&self, reason: StopReason) {
        self.0.lock().get_or_insert(reason);
    }

    pub fn reason(&self) -> Option<StopReason> {
        *self.0.lock()
    }
}
