//! Starting a training run as a child process, reading its event stream, keeping its files.

mod child;
pub mod folder;
mod reader;

pub use child::{Exited, RunChild, RunCommand};
pub use reader::{Line, read_line};
