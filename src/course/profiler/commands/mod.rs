//! Command lines of AMD's profilers, built for the version that is installed.
//!
//! A profiler is one file with its [`About`] and a line in [`Tool::about`].

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
use self::version::Version;

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

/// What answers whether the help names a flag.
type Offers<'a> = &'a dyn Fn(&str) -> bool;

/// What a profiler is, told where its command lines are built.
pub struct About {
    /// The name it is known by.
    name: &'static str,
    /// Programs that stand for it, today's name first.
    programs: &'static [&'static str],
    how_to_install: &'static str,
    /// What to ask the program for its flags: each in turn until one is answered with flags.
    help: &'static [&'static [&'static str]],
    /// What stands before the version in what `--version` prints, in lower case.
    version_labels: &'static [&'static str],
    /// The version where `--version` says none, by what the help offers.
    version_by_help: fn(Offers<'_>) -> Option<Version>,
    /// The version that comes with a version of ROCm.
    version_in: fn(Version) -> Version,
    /// What it can be asked for, the usual first.
    pub kinds: &'static [Kind],
    build: fn(&Request, &Installed) -> Result<CommandLine, LacksFlag>,
    /// A few lines of published output, with where they come from, for machines that lack the tool.
    pub sample_from: &'static str,
    pub sample: &'static str,
}

/// What a profiler can be asked for, in the words of the command line.
pub struct Kind {
    pub name: &'static str,
    pub help: &'static str,
    pub task: Task,
}

impl Kind {
    const fn new(name: &'static str, help: &'static str, task: Task) -> Self {
        Kind { name, help, task }
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

    /// A version of ROCm, with the tool's own where that differs.
    pub fn release(self, rocm: Version) -> String {
        let own = (self.about().version_in)(rocm);
        match own == rocm {
            true => format!("ROCm {rocm}"),
            false => format!("ROCm {rocm} ({self} {own})"),
        }
    }

    /// What `--kind` calls one of its tasks.
    ///
    /// # Errors
    /// A sentence that names those there are.
    pub fn task(self, kind: &str) -> Result<Task, String> {
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

    /// What it is asked for where nothing else is said.
    pub fn usual_task(self) -> &'static Task {
        &self.about().kinds[0].task
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a tool is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Which kernels take the time.
    Hotspots,
    /// Kernels, copies and calls on one timeline, for Perfetto.
    Runtime,
    /// Hardware counters; an empty list means those that the tutor's tables need.
    Counters(Vec<String>),
    /// Which kernels take the time, by the ranges of the program that launched them.
    Renamed,
    /// Where in a kernel wavefronts are, at intervals.
    PcSampling,
    /// The instructions of a few wavefronts.
    ThreadTrace,
    /// Which kernels a running process launches.
    Attach(u32),
    /// Sums over a database of rocprofv3.
    Summary(PathBuf),
    /// What a question in SQL is answered with by a database of rocprofv3.
    Query(PathBuf, String),
    /// What an input file of the user says.
    InputFile(PathBuf),
    /// Trace and call tree of host and device.
    SystemTrace,
    /// Call stacks at intervals.
    Sample,
    /// Writes a file with every setting.
    Configuration,
    /// All counters, by replaying the program.
    Profile,
    /// Only what a roofline needs.
    Roofline,
    /// One set of metrics, in one run.
    MetricSet,
    /// All counters in one run, other ones at each launch.
    Multiplexed,
    /// Tables from a workload folder.
    Analyze,
    /// The kernels of a workload folder with their numbers.
    ListStats,
    /// Tables of one dispatch.
    Dispatch(u64),
}

impl Task {
    /// Who does it, and the steps of training that show what there is to see: few where the program is run once for each set
    /// of counters.
    fn tool_and_steps(&self) -> (Tool, Option<usize>) {
        match self {
            Task::Hotspots | Task::Runtime | Task::Renamed | Task::InputFile(_) => {
                (Tool::Rocprofv3, Some(10))
            }
            Task::PcSampling => (Tool::Rocprofv3, Some(20)),
            Task::Counters(_) | Task::ThreadTrace => (Tool::Rocprofv3, Some(2)),
            Task::Attach(_) | Task::Summary(_) | Task::Query(..) => (Tool::Rocprofv3, None),
            Task::SystemTrace | Task::Sample => (Tool::RocprofSys, Some(10)),
            Task::Configuration => (Tool::RocprofSys, None),
            Task::Profile | Task::Roofline | Task::MetricSet => (Tool::RocprofCompute, Some(2)),
            Task::Multiplexed => (Tool::RocprofCompute, Some(20)),
            Task::Analyze | Task::ListStats | Task::Dispatch(_) => (Tool::RocprofCompute, None),
        }
    }

    pub fn tool(&self) -> Tool {
        self.tool_and_steps().0
    }

    /// What one sees afterwards.
    pub fn shows(&self) -> &'static str {
        match self {
            Task::Hotspots => {
                "which kernels the device's time goes to, how often each is launched and how long the device idles between them"
            }
            Task::Runtime => {
                "kernels, copies and API calls on one timeline; open the .pftrace file in ui.perfetto.dev"
            }
            Task::Counters(_) => {
                "hardware counters of every launch: waves, instructions, cache hits, bytes to and from memory"
            }
            Task::Renamed => {
                "which phases and parts of the model the device's time goes to, without a table of kernels beside them"
            }
            Task::PcSampling => {
                "at which instructions of a kernel its wavefronts are, and with stochastic sampling why they wait"
            }
            Task::ThreadTrace => {
                "every instruction of a few wavefronts with its cycles, in ROCprof Compute Viewer"
            }
            Task::Attach(_) => "the kernels that a running process launches, for ten seconds",
            Task::Summary(_) => "calls and times of kernels, copies and API calls in the database",
            Task::Query(..) => "the rows that your question selects from the database",
            Task::InputFile(_) => "what your input file asks for",
            Task::SystemTrace => {
                "a timeline of host and device, and a call tree with the time in each function"
            }
            Task::Sample => "where the host spends its time, from call stacks taken at intervals",
            Task::Configuration => {
                "a file with every setting of rocprof-sys, to edit and pass with --config"
            }
            Task::Profile => {
                "every counter of the device for every kernel, each as a share of its peak"
            }
            Task::MetricSet => "how busy the units that compute are, from a single run",
            Task::Multiplexed => {
                "every counter of the device for every kernel, from a single run; each launch counted a part of them"
            }
            Task::Roofline => {
                "kernels under the ceilings of memory and arithmetic that the tool measures on this GPU"
            }
            Task::Analyze | Task::Dispatch(_) => {
                "tables of every hardware block, each figure with the peak it can reach"
            }
            Task::ListStats => {
                "the kernels of the workload with the numbers that --kernel and --dispatch take"
            }
        }
    }

    /// Flags of `run`, for as many steps as the task needs.
    pub fn run_flags(&self) -> Vec<String> {
        let (_, steps) = self.tool_and_steps();
        let flags = steps.map(|steps| ["--num-steps".into(), steps.to_string()]);
        flags.into_iter().flatten().collect()
    }
}

/// Everything a command line is built from.
#[derive(Clone, Debug)]
pub struct Request {
    pub task: Task,
    /// The program to profile with its arguments.
    pub target: Vec<OsString>,
    /// What to put in front, such as `srun --gpus=1`.
    pub launcher: Vec<OsString>,
    /// Folder the tool writes to; for the tasks that read a workload, that workload.
    pub folder: PathBuf,
    /// Name of the files in it.
    pub name: String,
    /// `gfx942`, where it is known: which counters exist depends on it.
    pub architecture: Option<String>,
}

/// The command line for a request and the tool that is installed.
///
/// # Errors
/// When the tool lacks a flag that the task needs.
pub fn build(request: &Request, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    (request.task.tool().about().build)(request, installed)
}
