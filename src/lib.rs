//! The command line of the tutor: one binary that teaches and trains.
//!
//! [`main`] reads the arguments. It opens the tutor (`tinyllama-ui`) or carries out a subcommand; training and
//! measuring use the engine (`tinyllama-engine`).

mod cli;

pub use cli::main;
