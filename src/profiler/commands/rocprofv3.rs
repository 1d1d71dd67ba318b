//! rocprofv3: traces and hardware counters. Versions are those of ROCm.

use std::path::PathBuf;

use super::counters::{default_counters, passes};
use super::installed::Installed;
use super::line::{Builder, CommandLine};
use super::version::{Version, flags};
use super::{About, Kind, Request, Task};

const V6_2: Version = Version(6, 2);
const V6_3: Version = Version(6, 3);
const V7_0: Version = Version(7, 0);
/// From here on several `--pmc` are several passes, and input files in plain text are no longer read.
const V7_13: Version = Version(7, 13);

flags! {
    KERNEL_TRACE = "--kernel-trace", V6_2: "records every kernel the device runs, with start and end";
    HIP_TRACE = "--hip-trace", V6_2: "records the program's calls into HIP";
    MARKER_TRACE = "--marker-trace", V6_2: "records ranges the program marks itself (ROCTx)";
    MEMORY_COPY_TRACE = "--memory-copy-trace", V6_2: "records copies between host and device";
    RUNTIME_TRACE = "--runtime-trace", V6_3: "records HIP calls, kernels, copies, allocations and the program's own markers";
    STATS = "--stats", V6_2: "adds a summary: calls, total, mean, least and most per kernel";
    TRUNCATE = "--truncate-kernels", V6_2: "shortens kernel names to the function's; instances of one template then share a name";
    PMC = "--pmc", V6_3: "hardware counters to read at every kernel, as many as fit one run of the program";
    INPUT = "-i", V6_2: "reads counters and options from a file, one run of the program for each set";
    SELECTED_REGIONS = "--selected-regions", V7_0:
        "records only what the program selects (ROCTx): here its counted steps, without warm-up, tuning and comparing repeats";
    OUTPUT_FORMAT = "--output-format", V6_2:
        "form of the output; always said, because the default changed from CSV to a database with ROCm 7.0";
    DIRECTORY = "-d", V6_2: "folder for the output";
    NAME = "-o", V6_2: "name the output files begin with; %pid% keeps several processes from writing over each other";
}

pub const ABOUT: About = About {
    name: "rocprofv3",
    programs: &["rocprofv3"],
    how_to_install: "It comes with ROCm 6.2 and later: install the package `rocprofiler-sdk` (apt, dnf or zypper, from AMD's repository), then put /opt/rocm/bin on the PATH.",
    help: &["--help"],
    version_labels: &["rocm_version"],
    version_by_help,
    has_version_of_rocm: true,
    assumed: Version(7, 0),
    kinds: &[
        Kind::new("hotspots", "Which kernels take the time", Task::Hotspots),
        Kind::new("runtime", "A timeline for Perfetto", Task::Runtime),
        Kind::new(
            "counters",
            "Hardware counters, in runs that fit",
            Task::Counters(Vec::new()),
        ),
        Kind::new(
            "input",
            "What --input says",
            Task::InputFile(PathBuf::new()),
        ),
    ],
    build,
    sample_from: "kernel statistics of a Jacobi solver, published in AMD's HPCTrainingExamples; not measured here",
    sample: "kernel                 calls      total       mean   share\n\
                   JacobiIterationKernel   1000  517.65 ms  517.65 us   42.6%\n\
                   NormKernel1             1001  412.89 ms  412.48 us   34.0%\n\
                   LocalLaplacianKernel    1000  269.62 ms  269.62 us   22.2%\n\
                   HaloLaplacianKernel     1000   13.30 ms   13.30 us    1.1%\n\
                   NormKernel2             1001    2.87 ms    2.87 us    0.2%\n",
};

/// There was no `--version` before 7.0; what the help offers tells the version apart.
fn version_by_help(offers: &dyn Fn(&str) -> bool) -> Option<Version> {
    Some(if offers("--agent-index") {
        Version(7, 0)
    } else if offers("--collection-period") || offers("--list-avail") {
        Version(6, 4)
    } else if offers("--pmc") {
        V6_3
    } else {
        V6_2
    })
}

fn build(request: &Request, installed: &Installed) -> CommandLine {
    let does = "ROCm's tracer: follows the program and writes down what it does on the GPU";
    let mut line = Builder::new(request, installed, &installed.program, does);
    let mut form = "csv";
    match &request.task {
        Task::Runtime => {
            runtime_trace(&mut line);
            counted_steps(&mut line);
            form = "pftrace";
        }
        Task::Counters(counters) => {
            count(&mut line, request, installed, counters);
            counted_steps(&mut line);
        }
        Task::InputFile(path) => {
            line.flag(&INPUT, [path]);
            if installed.is_at_least(V7_13)
                && path.extension().is_some_and(|extension| extension == "txt")
            {
                line.note("rocprofv3 7.13 and later read no input files in plain text: turn it into JSON or YAML with a list of `jobs`.");
            }
        }
        _ => {
            line.switch(&KERNEL_TRACE);
            line.switch(&STATS);
            line.switch(&TRUNCATE);
            line.switch(&MARKER_TRACE);
            counted_steps(&mut line);
        }
    }
    line.flag(&OUTPUT_FORMAT, [form]);
    line.flag(&DIRECTORY, [&request.folder]);
    line.flag(&NAME, [&format!("{}_%pid%", request.name)]);
    line.target();
    line.finish()
}

fn counted_steps(line: &mut Builder<'_>) {
    if !line.switch(&SELECTED_REGIONS) {
        line.note("--selected-regions came with ROCm 7.0: warm-up, tuning and the comparison of repeats are in these figures, so calls are more than those of the counted steps.");
    }
}

fn runtime_trace(line: &mut Builder<'_>) {
    if line.switch(&RUNTIME_TRACE) {
        return;
    }
    line.note("--runtime-trace came with ROCm 6.3; the flags it stands for are given one by one.");
    for flag in [&HIP_TRACE, &KERNEL_TRACE, &MEMORY_COPY_TRACE, &MARKER_TRACE] {
        line.switch(flag);
    }
}

fn count(line: &mut Builder<'_>, request: &Request, installed: &Installed, counters: &[String]) {
    let architecture = request.architecture.as_deref();
    let defaults;
    let counters = if counters.is_empty() {
        defaults = default_counters(architecture);
        &defaults
    } else {
        counters
    };
    let passes = passes(counters, architecture);
    let takes_several = installed.is_at_least(V7_13);
    if installed.knows(&PMC) && (passes.len() <= 1 || takes_several) {
        for pass in &passes {
            line.flag(&PMC, pass);
        }
    } else {
        let path = request.folder.join("counters.txt");
        let sets = passes.iter();
        let sets = sets.map(|pass| format!("pmc: {}\n", pass.join(" ")));
        line.file(path.clone(), sets.collect());
        line.flag(&INPUT, [path]);
    }
    if passes.len() > 1 {
        line.note(format!(
            "The counters do not fit into the hardware at once: the program runs {} times, each time with other counters, so it should be short and do the same each time.",
            passes.len()
        ));
    }
    if architecture.is_none() {
        line.note("The GPU's architecture is not known here; --arch gfx942, for example, chooses counters that it has.");
    }
}
