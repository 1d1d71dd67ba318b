//! AMD's profilers: their commands, their runs, and what their output says.
//!
//! [`commands`] fills in a command line for the installed version of a tool, [`run`] executes it and names what went
//! wrong, [`read`] turns whatever files came out into one [`model::Profile`], [`show`] answers questions about it and
//! [`export`] writes it for other programs. [`live`] reads a GPU's state beside a run. Nothing here knows of terminals.

pub mod architecture;
pub mod commands;
pub mod export;
pub mod live;
pub mod model;
pub mod name;
pub mod read;
pub mod run;
pub mod show;
