//! How two runs that take turns are told so: a few steps of one, then of the other, so that both meet the same neighbours.
//!
//! The standard input of each is a socket to the other. A byte on it hands the turn over.

/// The environment variable that says that standard input is the other run, and which of the two begins.
pub const TURN: &str = "TINYLLAMA_TURN";
/// The value of [`TURN`] for the run that begins.
pub const FIRST: &str = "first";
/// The value of [`TURN`] for the run that waits.
pub const SECOND: &str = "second";
