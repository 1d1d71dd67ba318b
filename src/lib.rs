//! A terminal tutor for GPU performance work on a tiny LLaMA.
//!
//! Layers, from top to bottom; each uses only those below it (`tests/layers.rs` holds it so):
//!
//! ```text
//! cli          one file a subcommand
//! plain        the course as lines
//! tui          the course on a full screen; one file a panel
//! tutor        what both faces do with a step
//! instructor   a class
//! report       a session as a document
//! session      what a learner did, as a chain of events
//! lesson       the course's files and checks
//! analysis     comparing, ceilings, predictions, roofline
//! compiled     what a compiler makes of the kernels for a GPU
//! recording    runs of other machines, kept to be played
//! run          training as a child process: started, supervised, read
//! profiler     rocprof's commands and the files they write
//! targets      what can be trained, one file each, and the engines that carry it out
//! train        the training loop and its telemetry
//! model        the model's parts, sizes and work
//! device       backends, drivers, GPUs and what they reach
//! panics       a panic as an error
//! base         tables, units, statistics, locale, facts of a device, what comes from elsewhere
//! ```

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
pub mod targets;
pub mod train;
pub mod tui;
pub mod tutor;
