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
    build: fn(&ProfileRequest, &Installed) -> Result<CommandLine, LacksFlag>,
    /// Source of a few lines of published output, for machines without the tool.
    pub sample_from: &'static str,
    pub sample: &'static str,
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

    /// The tasks that `--kind` names, the usual one first.
    pub fn tasks(self) -> impl Iterator<Item = ProfileTask> {
        let tasks = ProfileTask::all().into_iter();
        tasks.filter(move |task| task.tool() == self && task.kind().is_some())
    }

    /// Finds the task that `--kind` names, or the usual one.
    ///
    /// # Errors
    /// Returns a sentence that lists the valid names.
    pub fn task(self, kind: Option<&str>) -> Result<ProfileTask, String> {
        let name = |task: &ProfileTask| task.kind().map(|(name, _)| name);
        let mut tasks = self.tasks();
        let found = tasks.find(|task| kind.is_none() || name(task) == kind);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.tasks().filter_map(|task| name(&task)).collect();
            let (kind, names) = (kind.unwrap_or_default(), names.join(", "));
            format!("{self} has no task `{kind}`; there are {names}")
        })
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines the tasks. A row has the tool, the name and help of `--kind`, the training steps that suffice, and what the
/// task shows. Tasks that run the program once per set of counters need few steps. Of each tool the usual task is first.
macro_rules! tasks {
    ($($(#[$about:meta])* $task:ident $(($($with:ty),+))? = $tool:ident $($kind:literal $help:literal)?, $steps:expr, $shows:literal;)+) => {
        /// A task for a profiler.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum ProfileTask { $($(#[$about])* $task $(($($with),+))?,)+ }

        impl ProfileTask {
            fn all() -> Vec<ProfileTask> {
                vec![$(ProfileTask::$task $(($(<$with>::default()),+))?),+]
            }

            fn facts(&self) -> (Tool, Option<usize>, &'static str) {
                match self { $(ProfileTask::$task { .. } => (Tool::$tool, $steps, $shows),)+ }
            }

            /// The name and the help of `--kind`, for tasks that it names.
            pub fn kind(&self) -> Option<(&'static str, &'static str)> {
                match self { $(ProfileTask::$task { .. } => None$(.or(Some(($kind, $help))))?,)+ }
            }
        }
    };
}

tasks! {
    /// The time that each kernel takes.
    Hotspots = Rocprofv3 "hotspots" "Which kernels take the time", Some(10), "which kernels the device's time goes to, how often each is launched and how long the device idles between them";
    /// Kernels, copies and calls on one timeline, for Perfetto.
    Runtime = Rocprofv3 "runtime" "Kernels, copies and host calls, with a timeline for Perfetto", Some(10), "kernels, copies and the host's calls: what an idle device waits for, and a timeline; open the .pftrace file in ui.perfetto.dev";
    /// Hardware counters. An empty list means those that the tutor's tables need.
    Counters(Vec<String>) = Rocprofv3 "counters" "Hardware counters, in runs that fit", Some(2), "hardware counters of every launch: waves, instructions, cache hits, bytes to and from memory";
    /// The time that each kernel takes, grouped by the program's ranges that launched them.
    Renamed = Rocprofv3 "renamed" "Time by the program's own ranges instead of kernels", Some(10), "which phases and parts of the model the device's time goes to, without a table of kernels";
    /// Positions of wavefronts in a kernel, at intervals.
    PcSampling = Rocprofv3 "pc-sampling" "Which instructions of a kernel wavefronts wait at", Some(20), "at which instructions of a kernel its wavefronts are, and with stochastic sampling why they wait";
    /// The instructions of a few wavefronts.
    ThreadTrace = Rocprofv3 "thread-trace" "Every instruction of a few wavefronts", Some(2), "every instruction of a few wavefronts with its cycles, in ROCprof Compute Viewer";
    /// The kernels that a running process launches.
    Attach(u32) = Rocprofv3 "attach" "Follows a process that is running, --pid", None, "the kernels that a running process launches, for ten seconds";
    /// Sums over a database of rocprofv3.
    Summary(PathBuf) = Rocprofv3, None, "calls and times of kernels, copies and API calls in the database";
    /// The answer of a rocprofv3 database to a question in SQL.
    Query(PathBuf, String) = Rocprofv3, None, "the rows that your question selects from the database";
    /// The tasks in an input file of the user.
    InputFile(PathBuf) = Rocprofv3 "input" "What --input says", Some(10), "what your input file asks for";
    /// Trace and call tree of host and device.
    SystemTrace = RocprofSys "run" "Timeline and call tree", Some(10), "a timeline of host and device, and a call tree with the time in each function";
    /// Call stacks at intervals.
    Sample = RocprofSys "sample" "Call stacks at intervals", Some(10), "where the host spends its time, from call stacks taken at intervals";
    /// Writes a file with every setting.
    Configuration = RocprofSys "config" "A file with every setting", None, "a file with every setting of rocprof-sys, to edit and pass with --config";
    /// All counters, by replaying the program.
    Profile = RocprofCompute "profile" "Every counter", Some(2), "every counter of the device for every kernel, each as a share of its peak";
    /// Only the counters of a roofline.
    Roofline = RocprofCompute "roofline" "Only what a roofline needs", Some(2), "kernels under the ceilings of memory and arithmetic that the tool measures on this GPU";
    /// One set of metrics, in one run.
    MetricSet = RocprofCompute "set" "One set of metrics, in a single run", Some(2), "how busy the units that compute are, from a single run";
    /// All counters in one run, with different ones at each launch.
    Multiplexed = RocprofCompute "multiplexed" "Every counter in a single run, different ones at each launch", Some(20), "every counter of the device for every kernel, from a single run; each launch counts a part of them";
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

#[cfg(test)]
mod tests;
