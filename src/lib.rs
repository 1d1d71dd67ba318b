//! The command line of the tutor: one binary that teaches and trains.
//!
//! [`main`] reads the arguments and either opens the course (`tinyllama-course`) or does what a subcommand asks, with the
//! engine (`tinyllama-engine`) where it trains or measures.

mod cli;
mod emitted;
mod learner_kernels;

pub use cli::main;
