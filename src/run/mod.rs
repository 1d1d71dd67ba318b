//! Starting a training run as a child process, reading its event stream, keeping its files.

mod asynchronous;
mod child;
pub mod folder;
mod reader;

pub use asynchronous::AsyncRun;
pub use child::{Exited, RunChild, RunCommand, signal_group};
pub use reader::{Line, read_line};
