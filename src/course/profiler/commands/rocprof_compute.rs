//! rocprof-compute (omniperf in ROCm 6.2): every counter, roofline, tables of each hardware block. It has its own
//! versions: 2.0 came with ROCm 6.2, 3.2 with 7.0, 3.7 with 7.14, 3.10 with 10.2.

use super::installed::Installed;
use super::line::{Builder, CommandLine, LacksFlag, NO_VALUE};
use super::version::{Version, flags};
use super::{About, Kind, Request, Task};

const V2_0: Version = Version(2, 0);
const V3_3: Version = Version(3, 3);
const V3_5: Version = Version(3, 5);
const V3_8: Version = Version(3, 8);
const V3_10: Version = Version(3, 10);

/// Versions of ROCm, each with the tool's version in it.
const RELEASES: [(Version, Version); 12] = [
    (Version(6, 2), V2_0),
    (Version(6, 3), Version(3, 0)),
    (Version(6, 4), Version(3, 1)),
    (Version(7, 0), Version(3, 2)),
    (Version(7, 1), V3_3),
    (Version(7, 2), Version(3, 4)),
    (Version(7, 12), V3_5),
    (Version(7, 13), Version(3, 6)),
    (Version(7, 14), Version(3, 7)),
    (Version(10, 0), V3_8),
    (Version(10, 1), Version(3, 9)),
    (Version(10, 2), V3_10),
];

flags! {
    NAME = "--name" V2_0: "name of the workload";
    FOLDER = "--output-directory" V3_5, "--path" V2_0 until V3_5: "folder for the workload";
    OVERWRITE = "--overwrite" V3_8: "writes into the folder although it is not empty: the tutor's log is in it";
    NO_ROOF = "--no-roof" V2_0: "leaves out the measurement of the GPU's ceilings, which takes minutes";
    ROOFLINE = "--roofline" V3_10, "--roof-only" V2_0 until V3_10: "collects only what a roofline needs, and measures the GPU's ceilings";
    KERNEL_NAMES = "--kernel-names" V2_0 until V3_5: "writes kernel names next to the points of the roofline";
    DEVICE = "--roofline-device" V3_10, "--device" V2_0 until V3_10: "the GPU whose ceilings are measured";
    SET = "--set" V3_3: "collects one set of metrics in a single run; `rocprof-compute profile --list-sets` names the sets";
    MULTIPLEXING = "--iteration-multiplexing" V3_5: "counts different counters at each launch of a kernel, so that one run of the program is enough";
    WORKLOAD = "--path" V2_0: "the workload folder to read";
    LIST_STATS = "--list-stats" V2_0: "lists kernels and dispatches with their numbers";
    DISPATCH = "--dispatch" V2_0: "number of the dispatch, from --list-stats";
}

pub const ABOUT: About = About {
    name: "rocprof-compute",
    programs: &["rocprof-compute", "omniperf"],
    how_to_install: "Install the package `rocprofiler-compute` (ROCm 6.3 to 7.12) or `amdrocm-profiler` (7.13 and later) from AMD's repository and its Python packages with `python3 -m pip install -r /opt/rocm/libexec/rocprofiler-compute/requirements.txt` (/opt/rocm/core since 7.13), best into a virtual environment. In ROCm 6.2 it was called omniperf.",
    help: &[&["profile", "--help"]],
    version_labels: &["compute version", "omniperf version"],
    version_by_help: |_| None,
    version_in,
    kinds: &[
        Kind::new("profile", "Every counter", Task::Profile),
        Kind::new("roofline", "Only what a roofline needs", Task::Roofline),
        Kind::new(
            "set",
            "One set of metrics, in a single run",
            Task::MetricSet,
        ),
        Kind::new(
            "multiplexed",
            "Every counter in a single run, different ones at each launch",
            Task::Multiplexed,
        ),
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

fn version_in(rocm: Version) -> Version {
    let mut releases = RELEASES.iter().rev();
    let newest = releases.find(|(release, _)| *release <= rocm);
    newest.map_or(V2_0, |(_, own)| *own)
}

fn build(request: &Request, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    match &request.task {
        Task::Analyze | Task::ListStats | Task::Dispatch(_) => analyze(request, installed),
        _ => profile(request, installed),
    }
}

fn profile(request: &Request, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    let mut line = Builder::new(request, installed, &installed.program, WHAT_IT_IS);
    let does = "collects counters by running the program";
    line.part(vec!["profile".into()], does);
    line.need(&NAME, [&request.name]);
    line.need(&FOLDER, [&request.folder]);
    line.need_where_it_exists(&OVERWRITE, NO_VALUE);
    match request.task {
        Task::Roofline => {
            line.need(&ROOFLINE, NO_VALUE);
            line.need_where_it_exists(&KERNEL_NAMES, NO_VALUE);
            line.want(
                &DEVICE,
                ["0"],
                "the tool chooses the GPU whose ceilings it measures.",
            );
        }
        Task::MetricSet => {
            line.need(&SET, ["compute_thruput_util"]);
            no_ceilings(&mut line);
        }
        Task::Multiplexed => {
            line.need(&MULTIPLEXING, NO_VALUE);
            no_ceilings(&mut line);
        }
        _ => no_ceilings(&mut line),
    }
    line.target();
    line.note(match request.task {
        Task::Roofline => {
            "The program is run several times, once for each set of counters, so it is kept short."
        }
        Task::MetricSet => {
            "The program is run once. Change the name after --set for another set: `rocprof-compute profile --list-sets` lists those your GPU has."
        }
        Task::Multiplexed => {
            "The program is run once, and each launch of a kernel counts different counters: figures are complete only for kernels that are launched at least 13 to 18 times."
        }
        _ => {
            "The program is run 13 to 18 times, once for each set of counters, so it is kept short; seed and work must be the same each time."
        }
    });
    line.finish()
}

fn no_ceilings(line: &mut Builder<'_>) {
    line.want(
        &NO_ROOF,
        NO_VALUE,
        "the GPU's ceilings are measured as well, which takes minutes.",
    );
}

fn analyze(request: &Request, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    // The known help is that of `profile`, not of `analyze`.
    let installed = installed.without_help();
    let mut line = Builder::new(request, &installed, &installed.program, WHAT_IT_IS);
    let does = "turns a workload folder into tables";
    line.part(vec!["analyze".into()], does);
    line.need(&WORKLOAD, [&request.folder]);
    match &request.task {
        Task::ListStats => line.need(&LIST_STATS, NO_VALUE),
        Task::Dispatch(number) => {
            line.need(&DISPATCH, [number.to_string()]);
            line.note("Dispatches are counted from 0 up to version 3.9 (ROCm 10.1) and from 1 since 3.10 (ROCm 10.2). The version that made the workload decides; --list-stats shows its numbers.");
        }
        _ => {}
    }
    line.finish()
}
