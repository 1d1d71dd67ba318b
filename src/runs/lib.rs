//! Runs: starting them, following them to their end, storing their files, and reading their figures.
//!
//! A run's start is a value ([`RunStart`]): a command behind a launcher, or a recording to play. [`supervise`] turns either
//! into a [`FinishedRun`] with its own folder, for any observer. [`recording`] has event streams of other machines' runs.
//!
//! The crate uses `base`, `contract`, and `profile` for a GPU's state during a run. It starts the program that trains, but
//! does not link it.
//!
//! ```
//! use tinyllama_runs::recording::Library;
//! use tinyllama_runs::{Metric, Statistic};
//!
//! let (run, origin) = Library::built_in("v1").expect("a recording of this program");
//! assert!(run.measurements.value(Metric::TotalMs, Statistic::Median).is_some());
//! assert!(origin.contains("H200"));
//! ```

pub mod children;
mod control;
pub mod energy;
pub mod event_text;
mod exit;
pub mod finished;
pub mod folder;
pub mod launcher;
mod line;
pub mod measurements;
pub mod metric;
pub mod play;
pub mod recording;
mod round;
mod start;
pub mod steps;
mod supervise;

pub use children::each_line;
pub use energy::{Joules, RunEnergy};
pub use finished::{ENERGY, EVENTS_FILE, FinishedRun, FinishedRuns, stream_of};
pub use folder::{RunFolder, RunRecord, state_folder};
pub use launcher::{Launcher, LauncherKind};
pub use play::{Player, Speed};

pub use control::{Control, Processes, signal_group};
pub use exit::{RunExit, signal_name};
pub use line::{Line, read_line};
pub use measurements::Measurements;
pub use metric::{Metric, MetricUnit, Statistic};
pub use start::{NotStarted, RunStart, Tape};
pub use supervise::{EndedRun, RunUpdate, stderr_tail, supervise};
