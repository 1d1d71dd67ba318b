//! rocprof-compute (omniperf in ROCm 6.2): every counter, roofline, tables of each hardware block. Versions are its own:
//! 3.0 came with ROCm 6.3, 3.2 with 7.0, 3.7 with 7.14.

use std::ffi::OsString;

use super::installed::Installed;
use super::line::{Builder, CommandLine};
use super::version::{Flag, Version};
use super::{Request, Task};

const V3_0: Version = Version(3, 0);
const V3_5: Version = Version(3, 5);
const V3_8: Version = Version(3, 8);

const NAME: Flag = Flag::new("--name", V3_0, "name of the workload");
const PATH: Flag = Flag::new("--path", V3_0, "folder for the workload").until(V3_5);
const OUTPUT_DIRECTORY: Flag = Flag::new("--output-directory", V3_5, "folder for the workload");
const OVERWRITE: Flag = Flag::new(
    "--overwrite",
    V3_8,
    "writes into the folder although it is not empty",
);
const NO_ROOF: Flag = Flag::new(
    "--no-roof",
    V3_0,
    "leaves out the measurement of the GPU's ceilings, which takes minutes",
);
const ROOF_ONLY: Flag = Flag::new(
    "--roof-only",
    V3_0,
    "collects only what a roofline needs, and measures the GPU's ceilings",
);
const KERNEL_NAMES: Flag = Flag::new(
    "--kernel-names",
    V3_0,
    "writes kernel names beside the points of the roofline",
)
.until(V3_5);
const DEVICE: Flag = Flag::new("--device", V3_0, "the GPU whose ceilings are measured");
const WORKLOAD: Flag = Flag::new("--path", V3_0, "the workload folder to read");
const LIST_STATS: Flag = Flag::new(
    "--list-stats",
    V3_0,
    "lists kernels and dispatches with their numbers",
);
const DISPATCH: Flag = Flag::new(
    "--dispatch",
    V3_0,
    "number of the dispatch, from --list-stats",
);

/// Every flag of `profile` that is used.
pub const FLAGS: &[Flag] = &[
    NAME,
    PATH,
    OUTPUT_DIRECTORY,
    OVERWRITE,
    NO_ROOF,
    ROOF_ONLY,
    KERNEL_NAMES,
    DEVICE,
];

pub fn build(request: &Request, installed: &Installed) -> CommandLine {
    match &request.task {
        Task::Analyze => analyze(request, installed, |_| {}),
        Task::ListStats => analyze(request, installed, |line| {
            line.switch(&LIST_STATS);
        }),
        Task::Dispatch(number) => analyze(request, installed, |line| {
            line.flag(&DISPATCH, [number.to_string()]);
            line.note("Dispatches are counted from 0 up to version 3.4 and from 1 since 3.5.");
        }),
        task => profile(request, installed, *task == Task::Roofline),
    }
}

fn profile(request: &Request, installed: &Installed, roofline: bool) -> CommandLine {
    let mut line = Builder::new(
        &request.launcher,
        installed,
        installed.program.as_os_str(),
        "ROCm's tool for everything the hardware counts",
    );
    line.part(
        vec!["profile".into()],
        "collects counters by running the program",
    );
    line.flag(&NAME, [&request.name]);
    if !line.flag(&OUTPUT_DIRECTORY, [&request.folder]) {
        line.flag(&PATH, [&request.folder]);
    }
    line.switch(&OVERWRITE);
    if roofline {
        line.switch(&ROOF_ONLY);
        line.switch(&KERNEL_NAMES);
        line.flag(&DEVICE, ["0"]);
    } else {
        line.switch(&NO_ROOF);
    }
    line.target(&request.target);
    line.note(if roofline {
        "The program is run several times, once for each set of counters, so it is kept short."
    } else {
        "The program is run 13 to 18 times, once for each set of counters, so it is kept short; seed and work must be the same each time."
    });
    line.finish(request.folder.clone())
}

fn analyze(
    request: &Request,
    installed: &Installed,
    more: impl FnOnce(&mut Builder<'_>),
) -> CommandLine {
    let everything = Installed {
        // The help at hand is that of `profile`, not of `analyze`.
        help: String::new(),
        ..installed.clone()
    };
    let mut line = Builder::new(
        &request.launcher,
        &everything,
        installed.program.as_os_str(),
        "ROCm's tool for everything the hardware counts",
    );
    line.part(
        vec![OsString::from("analyze")],
        "turns a workload folder into tables",
    );
    line.flag(&WORKLOAD, [&request.folder]);
    more(&mut line);
    line.finish(request.folder.clone())
}
