//! Command lines of AMD's profilers, built for the installed version.
//!
//! A new profiler needs a file with its [`About`], a variant of [`Tool`] and its lines in [`Tool::ALL`] and
//! [`Tool::about`]. Its tasks are rows of [`ProfileTask`].

pub mod counters;
pub mod installed;
pub mod legacy;
pub mod line;
pub mod rocprof_compute;
pub mod rocprof_sys;
pub mod rocprofv3;
pub mod version;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::installed::Installed;
use self::line::{CommandLine, LacksFlag};
use self::version::ToolVersion;

/// A profiler
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    Rocprofv3,
    RocprofSys,
    RocprofCompute,
}

/// Tests whether the help names a flag.
type Offers<'a> = &'a dyn Fn(&str) -> bool;

/// Facts about a profiler. The file that builds its command lines has them.
pub struct About {
    /// The name of the profiler.
    name: &'static str,
    /// Names of its program, today's name first.
    programs: &'static [&'static str],
    how_to_install: &'static str,
    /// Questions that make the program list its flags. They are tried in order until one gets an answer.
    help: &'static [&'static [&'static str]],
    /// Text before the version in the output of `--version`, in lower case.
    version_labels: &'static [&'static str],
    /// Derives the version from the flags in the help, for versions whose `--version` does not say it.
    version_by_help: fn(Offers<'_>) -> Option<ToolVersion>,
    /// Returns the tool's version in a release of ROCm.
    version_in: fn(ToolVersion) -> ToolVersion,
    /// Tasks of the tool, the usual one first.
    pub kinds: &'static [TaskOption],
    build: fn(&ProfileRequest, &Installed) -> Result<CommandLine, LacksFlag>,
    /// Source of a few lines of published output, for machines without the tool.
    pub sample_from: &'static str,
    pub sample: &'static str,
}

/// A task of a profiler and its name on the command line.
pub struct TaskOption {
    pub name: &'static str,
    pub help: &'static str,
    pub task: ProfileTask,
}

impl TaskOption {
    const fn new(name: &'static str, help: &'static str, task: ProfileTask) -> Self {
        TaskOption { name, help, task }
    }
}

impl Tool {
    pub const ALL: [Tool; 3] = [Tool::Rocprofv3, Tool::RocprofSys, Tool::RocprofCompute];

    pub fn about(self) -> &'static About {
        match self {
            Tool::Rocprofv3 => &rocprofv3::ABOUT,
            Tool::RocprofSys => &rocprof_sys::ABOUT,
            Tool::RocprofCompute => &rocprof_compute::ABOUT,
        }
    }

    pub fn name(self) -> &'static str {
        self.about().name
    }

    pub fn how_to_install(self) -> &'static str {
        self.about().how_to_install
    }

    /// Formats a version of ROCm, with the tool's own version if it differs.
    pub fn release(self, rocm: ToolVersion) -> String {
        let own = (self.about().version_in)(rocm);
        match own == rocm {
            true => format!("ROCm {rocm}"),
            false => format!("ROCm {rocm} ({self} {own})"),
        }
    }

    /// Finds the task that `--kind` names.
    ///
    /// # Errors
    /// Returns a sentence that lists the valid names.
    pub fn task(self, kind: &str) -> Result<ProfileTask, String> {
        let kinds = self.about().kinds;
        let found = kinds.iter().find(|known| known.name == kind);
        found.map(|known| known.task.clone()).ok_or_else(|| {
            let names: Vec<&str> = kinds.iter().map(|known| known.name).collect();
            format!(
                "{self} has no task `{kind}`; there are {}",
                names.join(", ")
            )
        })
    }

    /// The task if none is named.
    pub fn usual_task(self) -> &'static ProfileTask {
        &self.about().kinds[0].task
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines the tasks. A row has the tool, the training steps that suffice, and what the task shows. Tasks that run the
/// program once per set of counters need few steps.
macro_rules! tasks {
    ($($(#[$about:meta])* $task:ident $(($($with:ty),+))? = $tool:ident, $steps:expr, $shows:literal;)+) => {
        /// A task for a profiler.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum ProfileTask { $($(#[$about])* $task $(($($with),+))?,)+ }

        impl ProfileTask {
            fn facts(&self) -> (Tool, Option<usize>, &'static str) {
                match self { $(ProfileTask::$task { .. } => (Tool::$tool, $steps, $shows),)+ }
            }
        }
    };
}

tasks! {
    /// The time that each kernel takes.
    Hotspots = Rocprofv3, Some(10), "which kernels the device's time goes to, how often each is launched and how long the device idles between them";
    /// Kernels, copies and calls on one timeline, for Perfetto.
    Runtime = Rocprofv3, Some(10), "kernels, copies and API calls on one timeline; open the .pftrace file in ui.perfetto.dev";
    /// Hardware counters. An empty list means those that the tutor's tables need.
    Counters(Vec<String>) = Rocprofv3, Some(2), "hardware counters of every launch: waves, instructions, cache hits, bytes to and from memory";
    /// The time that each kernel takes, grouped by the program's ranges that launched them.
    Renamed = Rocprofv3, Some(10), "which phases and parts of the model the device's time goes to, without a table of kernels";
    /// Positions of wavefronts in a kernel, at intervals.
    PcSampling = Rocprofv3, Some(20), "at which instructions of a kernel its wavefronts are, and with stochastic sampling why they wait";
    /// The instructions of a few wavefronts.
    ThreadTrace = Rocprofv3, Some(2), "every instruction of a few wavefronts with its cycles, in ROCprof Compute Viewer";
    /// The kernels that a running process launches.
    Attach(u32) = Rocprofv3, None, "the kernels that a running process launches, for ten seconds";
    /// Sums over a database of rocprofv3.
    Summary(PathBuf) = Rocprofv3, None, "calls and times of kernels, copies and API calls in the database";
    /// The answer of a rocprofv3 database to a question in SQL.
    Query(PathBuf, String) = Rocprofv3, None, "the rows that your question selects from the database";
    /// The tasks in an input file of the user.
    InputFile(PathBuf) = Rocprofv3, Some(10), "what your input file asks for";
    /// Trace and call tree of host and device.
    SystemTrace = RocprofSys, Some(10), "a timeline of host and device, and a call tree with the time in each function";
    /// Call stacks at intervals.
    Sample = RocprofSys, Some(10), "where the host spends its time, from call stacks taken at intervals";
    /// Writes a file with every setting.
    Configuration = RocprofSys, None, "a file with every setting of rocprof-sys, to edit and pass with --config";
    /// All counters, by replaying the program.
    Profile = RocprofCompute, Some(2), "every counter of the device for every kernel, each as a share of its peak";
    /// Only the counters of a roofline.
    Roofline = RocprofCompute, Some(2), "kernels under the ceilings of memory and arithmetic that the tool measures on this GPU";
    /// One set of metrics, in one run.
    MetricSet = RocprofCompute, Some(2), "how busy the units that compute are, from a single run";
    /// All counters in one run, with different ones at each launch.
    Multiplexed = RocprofCompute, Some(20), "every counter of the device for every kernel, from a single run; each launch counts a part of them";
    /// Tables from a workload folder.
    Analyze = RocprofCompute, None, "tables of every hardware block, each figure with the peak it can reach";
    /// The kernels of a workload folder with their numbers.
    ListStats = RocprofCompute, None, "the kernels of the workload with the numbers that --kernel and --dispatch take";
    /// Tables of one dispatch.
    Dispatch(u64) = RocprofCompute, None, "tables of every hardware block, each figure with the peak it can reach";
}

impl ProfileTask {
    pub fn tool(&self) -> Tool {
        self.facts().0
    }

    /// Describes what the task shows.
    pub fn shows(&self) -> &'static str {
        self.facts().2
    }

    /// Flags of `run` that set as many steps as the task needs.
    pub fn run_flags(&self) -> Vec<String> {
        let flags = self
            .facts()
            .1
            .map(|steps| ["--num-steps".into(), steps.to_string()]);
        flags.into_iter().flatten().collect()
    }
}

/// Everything that determines a command line.
#[derive(Clone, Debug)]
pub struct ProfileRequest {
    pub task: ProfileTask,
    /// The program to profile, with its arguments.
    pub target: Vec<OsString>,
    /// Arguments in front, such as `srun --gpus=1`.
    pub launcher: Vec<OsString>,
    /// Folder that the tool writes to. For tasks that read a workload, the workload's folder.
    pub folder: PathBuf,
    /// Name of the files in the folder.
    pub name: String,
    /// For example `gfx942`. It decides which counters exist. `None` if it is not known.
    pub architecture: Option<String>,
}

/// Builds the command line of a request for the installed tool.
///
/// # Errors
/// Fails if the tool lacks a flag that the task needs.
pub fn build(request: &ProfileRequest, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    (request.task.tool().about().build)(request, installed)
}
