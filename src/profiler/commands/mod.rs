//! Command lines of AMD's profilers, built for the version that is installed.

pub mod counters;
pub mod installed;
pub mod legacy;
pub mod line;
pub mod rocprof_compute;
pub mod rocprof_sys;
pub mod rocprofv3;
pub mod samples;
pub mod version;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use self::installed::Installed;
use self::line::CommandLine;

/// A profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    RocprofV3,
    RocprofSys,
    RocprofCompute,
}

impl Tool {
    pub const ALL: [Tool; 3] = [Tool::RocprofV3, Tool::RocprofSys, Tool::RocprofCompute];

    /// The name it is known by.
    pub fn name(self) -> &'static str {
        match self {
            Tool::RocprofV3 => "rocprofv3",
            Tool::RocprofSys => "rocprof-sys",
            Tool::RocprofCompute => "rocprof-compute",
        }
    }

    /// Programs that stand for it, today's name first.
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Tool::RocprofV3 => &["rocprofv3"],
            Tool::RocprofSys => &["rocprof-sys-run", "omnitrace-run"],
            Tool::RocprofCompute => &["rocprof-compute", "omniperf"],
        }
    }

    pub fn how_to_install(self) -> &'static str {
        match self {
            Tool::RocprofV3 => {
                "It comes with ROCm 6.2 and later: install the package `rocprofiler-sdk` (apt, dnf or zypper, from AMD's repository), then put /opt/rocm/bin on the PATH."
            }
            Tool::RocprofSys => {
                "Install the package `rocprofiler-systems` (ROCm 6.3 and later) from AMD's repository, then put /opt/rocm/bin on the PATH. In ROCm 6.2 it was called omnitrace."
            }
            Tool::RocprofCompute => {
                "Install the package `rocprofiler-compute` (ROCm 6.3 and later) from AMD's repository and its Python packages with `python3 -m pip install -r /opt/rocm/libexec/rocprofiler-compute/requirements.txt`, best into a virtual environment. In ROCm 6.2 it was called omniperf."
            }
        }
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
    /// rocprofv3: which kernels take the time.
    Hotspots,
    /// rocprofv3: kernels, copies and calls on one timeline, for Perfetto.
    Runtime,
    /// rocprofv3: hardware counters; an empty list means those that the tutor's tables need.
    Counters(Vec<String>),
    /// rocprofv3: what an input file of the user says.
    InputFile(PathBuf),
    /// rocprof-sys: trace and call tree of host and device.
    SystemTrace,
    /// rocprof-sys: call stacks at intervals.
    Sample,
    /// rocprof-sys: writes a file with every setting.
    Configuration,
    /// rocprof-compute: all counters, by replaying the program.
    Profile,
    /// rocprof-compute: only what a roofline needs.
    Roofline,
    /// rocprof-compute: tables from a workload folder.
    Analyze,
    /// rocprof-compute: the kernels of a workload folder with their numbers.
    ListStats,
    /// rocprof-compute: tables of one dispatch.
    Dispatch(u64),
}

impl Task {
    pub fn tool(&self) -> Tool {
        match self {
            Task::Hotspots | Task::Runtime | Task::Counters(_) | Task::InputFile(_) => {
                Tool::RocprofV3
            }
            Task::SystemTrace | Task::Sample | Task::Configuration => Tool::RocprofSys,
            Task::Profile
            | Task::Roofline
            | Task::Analyze
            | Task::ListStats
            | Task::Dispatch(_) => Tool::RocprofCompute,
        }
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

    /// Steps of training that show what there is to see, as few as the tool needs.
    pub fn steps(&self) -> Option<usize> {
        match self {
            Task::Hotspots
            | Task::Runtime
            | Task::SystemTrace
            | Task::Sample
            | Task::InputFile(_) => Some(10),
            // The program is run once for each set of counters.
            Task::Counters(_) | Task::Profile | Task::Roofline => Some(2),
            Task::Configuration | Task::Analyze | Task::ListStats | Task::Dispatch(_) => None,
        }
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
pub fn build(request: &Request, installed: &Installed) -> CommandLine {
    match request.task.tool() {
        Tool::RocprofV3 => rocprofv3::build(request, installed),
        Tool::RocprofSys => rocprof_sys::build(request, installed),
        Tool::RocprofCompute => rocprof_compute::build(request, installed),
    }
}
