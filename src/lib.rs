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
//! workbench    kernels that learners write: exercises, and what carries them out
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

mod analysis;
mod base;
mod cli;
mod compiled;
mod device;
mod instructor;
mod lesson;
mod model;
mod panics;
mod plain;
mod profiler;
mod recording;
mod report;
mod run;
mod session;
mod targets;
mod train;
mod tui;
mod tutor;
mod workbench;

pub use cli::main;

/// What tests and benches, programs of their own, look at; by the module it lives in.
#[doc(hidden)]
pub mod inside {
    pub mod analysis {
        pub use crate::analysis::{calibration::Calibration, regression::Baseline};
    }
    pub mod device {
        pub use crate::device::kfd::{KfdGpu, gpus};
    }
    pub mod instructor {
        pub use crate::instructor::{Class, Delivery, deliver, stuck::Sign, views};
    }
    pub mod lesson {
        pub use crate::lesson::{
            Answer, Choice, Course, Lesson, Problem, Problems, Quiz, RunName, Source, Step,
            StepKind, Style, Verdict, lint::lint, live, scaffold, schema,
        };
    }
    pub mod model {
        pub use crate::model::{Preset, Recipe};
    }
    pub mod profiler {
        pub use crate::profiler::commands::installed::Installed;
        pub use crate::profiler::commands::line::{CommandLine, LacksFlag};
        pub use crate::profiler::commands::version::Version;
        pub use crate::profiler::commands::{Request, Task, Tool, build};
        pub use crate::profiler::export;
        pub use crate::profiler::live::{Source, sysfs::Sysfs};
        pub use crate::profiler::model::{
            Dispatch, Interval, Lane, Profile, StatisticKind, Variant,
        };
        pub use crate::profiler::read::{Import, import};
        pub use crate::profiler::run::{Ending, remedy::remedies};
        pub use crate::profiler::show::comparison::{Change, compare};
        pub use crate::profiler::show::copies::copies;
        pub use crate::profiler::show::counters::{counters, tables};
        pub use crate::profiler::show::derived::{DERIVED, memory_bytes, operations};
        pub use crate::profiler::show::hotspots::{GroupBy, Hotspot, hotspots};
        pub use crate::profiler::show::launches::launch_overhead;
        pub use crate::profiler::show::parts::Parts;
        pub use crate::profiler::show::report::{ReportOptions, api_calls, report};
        pub use crate::profiler::show::{roofline::roofline, timeline::activity};
    }
    pub mod recording {
        pub use crate::recording::{Library, Source};
    }
    pub mod report {
        pub use crate::report::{Options, Report, class, collect, hand_in, html, junit, markdown};
    }
    pub mod run {
        pub use crate::run::{
            Control, FinishedRun, Launcher, Line, RunExit, RunFolder, RunRecord, RunSpec, Start,
            Told, supervise,
        };
    }
    pub mod session {
        pub use crate::session::{
            Action, AnswerGiven, Event, KernelTime, Notice, Order, Place, RunExit, Scope, Session,
            SessionError, State, Status, StepRef, archive, chain, class_file, inbox, lock,
            progress, read_only, scan, store,
        };
    }
    pub mod targets {
        pub use crate::targets::Target;
    }
    pub mod train {
        pub use crate::train::{Body, DataSource, Event, Hello, PartWork, Parts, Step, Summary};
    }
    pub mod workbench {
        pub use crate::workbench::check::{Checked, WAVES, check};
        pub use crate::workbench::{
            Exercise, File, Finding, Kind, ToolchainError, amd, exercises, find, words,
        };
    }
}
