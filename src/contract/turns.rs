//! The protocol for two runs that take turns: a few steps of one, then of the other, so that both meet the same load.
//!
//! Each run's standard input is a socket to the other. A byte on it passes the turn.

/// Environment variable that says two things: standard input leads to the other run, and which of the two begins.
pub const TURN: &str = "TINYLLAMA_TURN";
/// The value of [`TURN`] for the run that begins.
pub const FIRST: &str = "first";
/// The value of [`TURN`] for the run that waits.
pub const SECOND: &str = "second";
