//! AMD's profilers: their commands, their runs, and their output.
//!
//! [`commands`] builds a command line for the installed version of a tool. [`mod@run`] executes it and explains failures.
//! [`read`] turns the files into one [`model::Profile`]. [`show`] answers questions about it, and [`export`] writes it for
//! other programs. [`live`] reads a GPU's state during a run.
//!
//! The crate uses `base` and `contract`. It knows no lesson, no session and no terminal.
//!
//! ```
//! let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/rocprofv3/kernel_trace.csv");
//! let import = tinyllama_profile::import(file.as_ref())?;
//! assert!(!import.profile.dispatches.is_empty());
//! # Ok::<(), tinyllama_profile::read::ImportError>(())
//! ```

pub mod commands;
pub mod export;
pub mod live;
pub mod model;
pub mod name;
mod nothing;
pub mod read;
pub mod run;
pub mod show;

pub use commands::installed::Installed;
pub use commands::line::{CommandLine, LacksFlag};
pub use commands::version::ToolVersion;
pub use commands::{ProfileRequest, ProfileTask, Tool, build};
pub use live::{GpuStatusSource, sysfs::Sysfs};
pub use model::{Dispatch, LaunchVariant, Profile, StatisticKind, TimeSpan, TraceLane};
pub use nothing::NothingRecorded;
pub use read::{Import, import};
pub use run::{ProfilerEnding, remedy::remedies};
pub use show::comparison::{KernelChange, compare};
pub use show::copies::copies;
pub use show::counters::{counters, tables};
pub use show::derived::{DERIVED, memory_bytes, operations};
pub use show::hotspots::{GroupBy, Hotspot, hotspots};
pub use show::launches::launch_overhead;
pub use show::parts::KernelParts;
pub use show::report::{ReportOptions, api_calls, report};
pub use show::{roofline::roofline, timeline::activity};
