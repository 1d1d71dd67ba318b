//! rocprof-compute (omniperf in ROCm 6.2): every counter, roofline, tables of each hardware block. Versions are its own:
//! 3.0 came with ROCm 6.3, 3.2 with 7.0, 3.7 with 7.14.

use super::installed::Installed;
use super::line::{Builder, CommandLine};
use super::version::{Version, flags};
use super::{About, Kind, Request, Task};

const V3_0: Version = Version(3, 0);
const V3_5: Version = Version(3, 5);
const V3_8: Version = Version(3, 8);

flags! {
    NAME = "--name", V3_0: "name of the workload";
    PATH = "--path", V3_0 until V3_5: "folder for the workload";
    OUTPUT_DIRECTORY = "--output-directory", V3_5: "folder for the workload";
    OVERWRITE = "--overwrite", V3_8: "writes into the folder although it is not empty";
    NO_ROOF = "--no-roof", V3_0: "leaves out the measurement of the GPU's ceilings, which takes minutes";
    ROOF_ONLY = "--roof-only", V3_0: "collects only what a roofline needs, and measures the GPU's ceilings";
    KERNEL_NAMES = "--kernel-names", V3_0 until V3_5: "writes kernel names beside the points of the roofline";
    DEVICE = "--device", V3_0: "the GPU whose ceilings are measured";
    WORKLOAD = "--path", V3_0: "the workload folder to read";
    LIST_STATS = "--list-stats", V3_0: "lists kernels and dispatches with their numbers";
    DISPATCH = "--dispatch", V3_0: "number of the dispatch, from --list-stats";
}

pub const ABOUT: About = About {
    name: "rocprof-compute",
    programs: &["rocprof-compute", "omniperf"],
    how_to_install: "Install the package `rocprofiler-compute` (ROCm 6.3 and later) from AMD's repository and its Python packages with `python3 -m pip install -r /opt/rocm/libexec/rocprofiler-compute/requirements.txt`, best into a virtual environment. In ROCm 6.2 it was called omniperf.",
    help: &["profile", "--help"],
    version_labels: &["compute version", "omniperf version"],
    version_by_help: |_| None,
    has_version_of_rocm: false,
    assumed: V3_0,
    kinds: &[
        Kind::new("profile", "Every counter", Task::Profile),
        Kind::new("roofline", "Only what a roofline needs", Task::Roofline),
    ],
    build,
    sample_from: "ceilings of an MI200 as the tool measured them, published with its tests; not measured here",
    sample: "ceiling        measured\n\
                   HBM            1388.9 GB/s\n\
                   L2             5018.3 GB/s\n\
                   LDS           17717.8 GB/s\n\
                   FP32          20942.0 GFLOP/s\n\
                   MFMA BF16    170483.2 GFLOP/s\n",
};

const WHAT_IT_IS: &str = "ROCm's tool for everything the hardware counts";

fn build(request: &Request, installed: &Installed) -> CommandLine {
    match &request.task {
        Task::Profile | Task::Roofline => profile(request, installed),
        task => analyze(request, installed, task),
    }
}

fn profile(request: &Request, installed: &Installed) -> CommandLine {
    let is_roofline = request.task == Task::Roofline;
    let mut line = Builder::new(request, installed, &installed.program, WHAT_IT_IS);
    let does = "collects counters by running the program";
    line.part(vec!["profile".into()], does);
    line.flag(&NAME, [&request.name]);
    if !line.flag(&OUTPUT_DIRECTORY, [&request.folder]) {
        line.flag(&PATH, [&request.folder]);
    }
    line.switch(&OVERWRITE);
    if is_roofline {
        line.switch(&ROOF_ONLY);
        line.switch(&KERNEL_NAMES);
        line.flag(&DEVICE, ["0"]);
    } else {
        line.switch(&NO_ROOF);
    }
    line.target();
    line.note(if is_roofline {
        "The program is run several times, once for each set of counters, so it is kept short."
    } else {
        "The program is run 13 to 18 times, once for each set of counters, so it is kept short; seed and work must be the same each time."
    });
    line.finish()
}

fn analyze(request: &Request, installed: &Installed, task: &Task) -> CommandLine {
    // The help at hand is that of `profile`, not of `analyze`.
    let installed = installed.without_help();
    let mut line = Builder::new(request, &installed, &installed.program, WHAT_IT_IS);
    let does = "turns a workload folder into tables";
    line.part(vec!["analyze".into()], does);
    line.flag(&WORKLOAD, [&request.folder]);
    match task {
        Task::ListStats => drop(line.switch(&LIST_STATS)),
        Task::Dispatch(number) => {
            line.flag(&DISPATCH, [number.to_string()]);
            line.note("Dispatches are counted from 0 up to version 3.4 and from 1 since 3.5.");
        }
        _ => {}
    }
    line.finish()
}
