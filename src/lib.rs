//! A terminal tutor for GPU performance work on a tiny LLaMA.
//!
//! Layers, each using only those below it: [`cli`] over [`session`] (what a learner did), over [`lesson`] (the course and its
//! checks), [`analysis`] (statistics) and [`profiler`] (rocprof's commands and files), over [`run`] (training as a child
//! process), over [`train`] (the loop and its telemetry), [`model`] and [`device`].

pub mod analysis;
pub mod cli;
pub mod compiled;
pub mod device;
pub mod lesson;
pub mod model;
mod panics;
pub mod profiler;
pub mod run;
pub mod session;
pub mod train;
