//! rocprof-compute (omniperf in ROCm 6.2): every counter, roofline, tables of each hardware block. It has its own
//! versions: 2.0 came with ROCm 6.2, 3.2 with 7.0, 3.7 with 7.14, 3.10 with 10.2.

use super::installed::Installed;
use super::line::{CommandLine, LacksFlag, LineBuilder, NO_VALUE};
use super::version::{ToolVersion, flags};
use super::{About, ProfileRequest, ProfileTask};

/// Versions of ROCm, each with the tool's version in it.
const RELEASES: [(ToolVersion, ToolVersion); 12] = [
    (ToolVersion(6, 2), ToolVersion(2, 0)),
    (ToolVersion(6, 3), ToolVersion(3, 0)),
    (ToolVersion(6, 4), ToolVersion(3, 1)),
    (ToolVersion(7, 0), ToolVersion(3, 2)),
    (ToolVersion(7, 1), ToolVersion(3, 3)),
    (ToolVersion(7, 2), ToolVersion(3, 4)),
    (ToolVersion(7, 12), ToolVersion(3, 5)),
    (ToolVersion(7, 13), ToolVersion(3, 6)),
    (ToolVersion(7, 14), ToolVersion(3, 7)),
    (ToolVersion(10, 0), ToolVersion(3, 8)),
    (ToolVersion(10, 1), ToolVersion(3, 9)),
    (ToolVersion(10, 2), ToolVersion(3, 10)),
];

flags! {
    NAME = "--name" (2, 0): "name of the workload";
    FOLDER = "--output-directory" (3, 5), "--path" (2, 0) until (3, 5): "folder for the workload";
    OVERWRITE = "--overwrite" (3, 8): "writes into the folder although it is not empty: the tutor's log is in it";
    NO_ROOF = "--no-roof" (2, 0): "leaves out the measurement of the GPU's ceilings, which takes minutes",
        or "the GPU's ceilings are measured as well, which takes minutes.";
    ROOFLINE = "--roofline" (3, 10), "--roof-only" (2, 0) until (3, 10): "collects only what a roofline needs, and measures the GPU's ceilings";
    KERNEL_NAMES = "--kernel-names" (2, 0) until (3, 5): "writes kernel names next to the points of the roofline";
    DEVICE = "--roofline-device" (3, 10), "--device" (2, 0) until (3, 10): "the GPU whose ceilings are measured",
        or "the tool chooses the GPU whose ceilings it measures.";
    SET = "--set" (3, 3): "collects one set of metrics in a single run; `rocprof-compute profile --list-sets` names the sets";
    MULTIPLEXING = "--iteration-multiplexing" (3, 5): "counts different counters at each launch of a kernel, so that one run of the program is enough";
    WORKLOAD = "--path" (2, 0): "the workload folder to read";
    LIST_STATS = "--list-stats" (2, 0): "lists kernels and dispatches with their numbers";
    DISPATCH = "--dispatch" (2, 0): "number of the dispatch, from --list-stats";
}

pub const ABOUT: About = About {
    name: "rocprof-compute",
    programs: &["rocprof-compute", "omniperf"],
    how_to_install: "Install the package `rocprofiler-compute` (ROCm 6.3 to 7.12) or `amdrocm-profiler` (7.13 and later) from AMD's repository and its Python packages with `python3 -m pip install -r /opt/rocm/libexec/rocprofiler-compute/requirements.txt` (/opt/rocm/core since 7.13), best into a virtual environment. In ROCm 6.2 it was called omniperf.",
    help: &[&["profile", "--help"]],
    version_labels: &["compute version", "omniperf version"],
    version_by_help: |_| None,
    version_in,
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

fn version_in(rocm: ToolVersion) -> ToolVersion {
    let mut releases = RELEASES.iter().rev();
    let newest = releases.find(|(release, _)| *release <= rocm);
    newest.map_or(ToolVersion(2, 0), |(_, own)| *own)
}

fn build(request: &ProfileRequest, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    match &request.task {
        ProfileTask::Analyze | ProfileTask::ListStats | ProfileTask::Dispatch(_) => {
            analyze(request, installed)
        }
        _ => profile(request, installed),
    }
}

fn profile(request: &ProfileRequest, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    let mut line = LineBuilder::new(request, installed, &installed.program, WHAT_IT_IS);
    let does = "collects counters by running the program";
    line.part(vec!["profile".into()], does);
    line.require(&NAME, &[&request.name]);
    line.require(&FOLDER, &[&request.folder]);
    line.require_if_known(&OVERWRITE, NO_VALUE);
    match request.task {
        ProfileTask::Roofline => {
            line.require(&ROOFLINE, NO_VALUE);
            line.require_if_known(&KERNEL_NAMES, NO_VALUE);
            line.add_if_supported(&DEVICE, &["0"]);
        }
        ProfileTask::MetricSet => line.require(&SET, &["compute_thruput_util"]),
        ProfileTask::Multiplexed => line.require(&MULTIPLEXING, NO_VALUE),
        _ => {}
    }
    if request.task != ProfileTask::Roofline {
        line.add_if_supported(&NO_ROOF, NO_VALUE);
    }
    line.target();
    line.note(match request.task {
        ProfileTask::Roofline => {
            "The program is run several times, once for each set of counters, so it is kept short."
        }
        ProfileTask::MetricSet => {
            "The program is run once. Change the name after --set for another set: `rocprof-compute profile --list-sets` lists those your GPU has."
        }
        ProfileTask::Multiplexed => {
            "The program is run once, and each launch of a kernel counts different counters: figures are complete only for kernels that are launched at least 13 to 18 times."
        }
        _ => {
            "The program is run 13 to 18 times, once for each set of counters, so it is kept short; seed and work must be the same each time."
        }
    });
    line.finish()
}

fn analyze(request: &ProfileRequest, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    // The known help is that of `profile`, not of `analyze`.
    let installed = installed.without_help();
    let mut line = LineBuilder::new(request, &installed, &installed.program, WHAT_IT_IS);
    let does = "turns a workload folder into tables";
    line.part(vec!["analyze".into()], does);
    line.require(&WORKLOAD, &[&request.folder]);
    match &request.task {
        ProfileTask::ListStats => line.require(&LIST_STATS, NO_VALUE),
        ProfileTask::Dispatch(number) => {
            line.require(&DISPATCH, &[number.to_string()]);
            line.note("Dispatches are counted from 0 up to version 3.9 (ROCm 10.1) and from 1 since 3.10 (ROCm 10.2). The version that made the workload decides; --list-stats shows its numbers.");
        }
        _ => {}
    }
    line.finish()
}
