//! Command lines of AMD's profilers, built for the installed version.
//!
//! A new profiler needs a file with its [`About`], a variant of [`Tool`] and its lines in [`Tool::ALL`] and
//! [`Tool::about`]. Its tasks are variants of [`ProfileTask`], with their steps and their descriptions.

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

/// A task for a profiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileTask {
    /// The time that each kernel takes.
    Hotspots,
    /// Kernels, copies and calls on one timeline, for Perfetto.
    Runtime,
    /// Hardware counters. An empty list means those that the tutor's tables need.
    Counters(Vec<String>),
    /// The time that each kernel takes, grouped by the program's ranges that launched them.
    Renamed,
    /// Positions of wavefronts in a kernel, at intervals.
    PcSampling,
    /// The instructions of a few wavefronts.
    ThreadTrace,
    /// The kernels that a running process launches.
    Attach(u32),
    /// Sums over a database of rocprofv3.
    Summary(PathBuf),
    /// The answer of a rocprofv3 database to a question in SQL.
    Query(PathBuf, String),
    /// The tasks in an input file of the user.
    InputFile(PathBuf),
    /// Trace and call tree of host and device.
    SystemTrace,
    /// Call stacks at intervals.
    Sample,
    /// Writes a file with every setting.
    Configuration,
    /// All counters, by replaying the program.
    Profile,
    /// Only the counters of a roofline.
    Roofline,
    /// One set of metrics, in one run.
    MetricSet,
    /// All counters in one run, with different ones at each launch.
    Multiplexed,
    /// Tables from a workload folder.
    Analyze,
    /// The kernels of a workload folder with their numbers.
    ListStats,
    /// Tables of one dispatch.
    Dispatch(u64),
}

impl ProfileTask {
    /// The tool for the task, and the training steps that suffice. Tasks that run the program once per set of counters
    /// need few.
    fn tool_and_steps(&self) -> (Tool, Option<usize>) {
        match self {
            ProfileTask::Hotspots
            | ProfileTask::Runtime
            | ProfileTask::Renamed
            | ProfileTask::InputFile(_) => (Tool::Rocprofv3, Some(10)),
            ProfileTask::PcSampling => (Tool::Rocprofv3, Some(20)),
            ProfileTask::Counters(_) | ProfileTask::ThreadTrace => (Tool::Rocprofv3, Some(2)),
            ProfileTask::Attach(_) | ProfileTask::Summary(_) | ProfileTask::Query(..) => {
                (Tool::Rocprofv3, None)
            }
            ProfileTask::SystemTrace | ProfileTask::Sample => (Tool::RocprofSys, Some(10)),
            ProfileTask::Configuration => (Tool::RocprofSys, None),
            ProfileTask::Profile | ProfileTask::Roofline | ProfileTask::MetricSet => {
                (Tool::RocprofCompute, Some(2))
            }
            ProfileTask::Multiplexed => (Tool::RocprofCompute, Some(20)),
            ProfileTask::Analyze | ProfileTask::ListStats | ProfileTask::Dispatch(_) => {
                (Tool::RocprofCompute, None)
            }
        }
    }

    pub fn tool(&self) -> Tool {
        self.tool_and_steps().0
    }

    /// Describes what the task shows.
    pub fn shows(&self) -> &'static str {
        match self {
            ProfileTask::Hotspots => {
                "which kernels the device's time goes to, how often each is launched and how long the device idles between them"
            }
            ProfileTask::Runtime => {
                "kernels, copies and API calls on one timeline; open the .pftrace file in ui.perfetto.dev"
            }
            ProfileTask::Counters(_) => {
                "hardware counters of every launch: waves, instructions, cache hits, bytes to and from memory"
            }
            ProfileTask::Renamed => {
                "which phases and parts of the model the device's time goes to, without a table of kernels"
            }
            ProfileTask::PcSampling => {
                "at which instructions of a kernel its wavefronts are, and with stochastic sampling why they wait"
            }
            ProfileTask::ThreadTrace => {
                "every instruction of a few wavefronts with its cycles, in ROCprof Compute Viewer"
            }
            ProfileTask::Attach(_) => {
                "the kernels that a running process launches, for ten seconds"
            }
            ProfileTask::Summary(_) => {
                "calls and times of kernels, copies and API calls in the database"
            }
            ProfileTask::Query(..) => "the rows that your question selects from the database",
            ProfileTask::InputFile(_) => "what your input file asks for",
            ProfileTask::SystemTrace => {
                "a timeline of host and device, and a call tree with the time in each function"
            }
            ProfileTask::Sample => {
                "where the host spends its time, from call stacks taken at intervals"
            }
            ProfileTask::Configuration => {
                "a file with every setting of rocprof-sys, to edit and pass with --config"
            }
            ProfileTask::Profile => {
                "every counter of the device for every kernel, each as a share of its peak"
            }
            ProfileTask::MetricSet => "how busy the units that compute are, from a single run",
            ProfileTask::Multiplexed => {
                "every counter of the device for every kernel, from a single run; each launch counts a part of them"
            }
            ProfileTask::Roofline => {
                "kernels under the ceilings of memory and arithmetic that the tool measures on this GPU"
            }
            ProfileTask::Analyze | ProfileTask::Dispatch(_) => {
                "tables of every hardware block, each figure with the peak it can reach"
            }
            ProfileTask::ListStats => {
                "the kernels of the workload with the numbers that --kernel and --dispatch take"
            }
        }
    }

    /// Flags of `run` that set as many steps as the task needs.
    pub fn run_flags(&self) -> Vec<String> {
        let (_, steps) = self.tool_and_steps();
        let flags = steps.map(|steps| ["--num-steps".into(), steps.to_string()]);
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
