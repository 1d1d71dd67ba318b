//! Turns panics of other code into errors.

use std::any::Any;

use thiserror::Error;

/// A caught panic of a driver, or of a thread that works for a device.
#[derive(Clone, Debug, Error)]
#[error("the computation panicked ({place}): {message}")]
pub struct Panicked {
    /// File and line of the first panic.
    pub place: String,
    pub message: String,
}

/// Extracts the message of a caught panic.
pub fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}
