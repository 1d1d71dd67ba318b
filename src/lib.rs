//! A terminal tutor for GPU performance work on a tiny LLaMA.
//!
//! Layers, each using only those below it: [`cli`] over [`tui`] and [`plain`] (the two faces of the course, with
//! [`tutor`], what they share), over [`instructor`] (a class) and [`report`] (a session as a document), over [`session`]
//! (what a learner did), over [`lesson`] (the course and its checks), [`analysis`] (statistics) and [`profiler`] (rocprof's
//! commands and files), over [`run`] (training as a child process), over [`train`] (the loop and its telemetry), [`model`]
//! and [`device`]. Beside [`run`] stands [`recording`]: runs of other machines, kept to be played.

pub mod analysis;
pub mod base;
pub mod cli;
pub mod compiled;
pub mod device;
pub mod instructor;
pub mod lesson;
pub mod model;
mod panics;
pub mod plain;
pub mod profiler;
pub mod recording;
pub mod report;
pub mod run;
pub mod session;
pub mod train;
pub mod tui;
pub mod tutor;
