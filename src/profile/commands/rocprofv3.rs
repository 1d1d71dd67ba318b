//! rocprofv3: traces and hardware counters. Its versions are those of ROCm.

use std::path::Path;

use super::counters::{default_counters, passes};
use super::installed::Installed;
use super::line::{CommandLine, LacksFlag, LineBuilder, NO_VALUE};
use super::version::{ToolVersion, flags};
use super::{About, ProfileRequest, ProfileTask};

const V7_0: ToolVersion = ToolVersion(7, 0);
/// Since this version several `--pmc` are several passes, and input files in plain text are deprecated.
const V7_13: ToolVersion = ToolVersion(7, 13);

flags! {
    KERNEL_TRACE = "--kernel-trace" (6, 2): "records every kernel the device runs, with start and end";
    HIP_TRACE = "--hip-trace" (6, 2): "records the program's calls into HIP";
    MARKER_TRACE = "--marker-trace" (6, 2): "records ranges the program marks itself (ROCTx)",
        or "the program's own ranges are not recorded.";
    MEMORY_COPY_TRACE = "--memory-copy-trace" (6, 2): "records copies between host and device";
    RUNTIME_TRACE = "--runtime-trace" (6, 3): "records HIP calls, kernels, copies, allocations and the program's own markers";
    STATS = "--stats" (6, 2): "adds a summary: calls, total, mean, least and most per kernel",
        or "the tool writes no sums, and the tutor adds up the trace.";
    TRUNCATE = "--truncate-kernels" (6, 2): "shortens kernel names to the function's; instances of one template then share a name",
        or "kernels are listed with their whole names.";
    PMC = "--pmc" (6, 3): "hardware counters to read at every kernel, as many as fit one run of the program";
    INPUT = "-i" (6, 2): "reads counters and options from a file, one run of the program for each set";
    SELECTED_REGIONS = "--selected-regions" (7, 0):
        "records only what the program selects (ROCTx): here its counted steps, without warm-up, tuning and comparing repeats",
        or "it came with ROCm 7.0. Warm-up, tuning and the comparison of repeats are in these figures, so there are more calls than in the counted steps.";
    KERNEL_RENAME = "--kernel-rename" (6, 3): "names each kernel after the range of the program that launched it: a phase of the step, a part of the model";
    THREAD_TRACE = "--att" (7, 0): "follows the instructions of a few wavefronts, one by one";
    THREAD_TRACE_UNIT = "--att-target-cu" (7, 0): "the compute unit whose wavefronts are followed";
    SAMPLING = "--pc-sampling-beta-enabled" (6, 4): "agrees to sampling, which AMD calls a beta";
    SAMPLING_METHOD = "--pc-sampling-method" (6, 4): "how samples are taken; `stochastic`, by the hardware, needs an MI300 or later and ROCm 7.0";
    SAMPLING_UNIT = "--pc-sampling-unit" (6, 4): "what the interval counts";
    SAMPLING_INTERVAL = "--pc-sampling-interval" (6, 4): "how far apart the samples are";
    SUMMARY = "summary" (7, 1): "adds up calls and times";
    QUERY = "query" (7, 1): "asks the database in SQL; `top_kernels`, `kernels` and `regions` are views of it";
    DATABASE = "--input" (7, 1): "the database that rocprofv3 wrote";
    SQL = "--query" (7, 1): "the question";
    ATTACH = "--attach" (7, 1): "the running process to follow, by its number";
    ATTACH_DURATION = "--attach-duration-msec" (7, 1): "how long it is followed";
    OUTPUT_FORMAT = "--output-format" (6, 2):
        "forms of the output; always given, because the default changed from CSV to a database (rocpd) with ROCm 7.0";
    DIRECTORY = "-d" (6, 2): "folder for the output";
    NAME = "-o" (6, 2): "name the output files begin with; %pid% keeps several processes from writing over each other";
}

pub const ABOUT: About = About {
    name: "rocprofv3",
    programs: &["rocprofv3"],
    how_to_install: "It comes with ROCm 6.2 and later: install the package `rocprofiler-sdk`, or since ROCm 7.13 `amdrocm-profiler` (apt, dnf or zypper, from AMD's repository), then put /opt/rocm/bin (/opt/rocm/core/bin since 7.13) on the PATH.",
    help: &[&["--help"]],
    version_labels: &["rocm_version"],
    version_by_help,
    version_in: |rocm| rocm,
    build,
    sample_from: "kernel statistics of a Jacobi solver, published in AMD's HPCTrainingExamples; not measured here",
    sample: "kernel                 calls      total       mean   share\n\
                   JacobiIterationKernel   1000  517.65 ms  517.65 us   42.6%\n\
                   NormKernel1             1001  412.89 ms  412.48 us   34.0%\n\
                   LocalLaplacianKernel    1000  269.62 ms  269.62 us   22.2%\n\
                   HaloLaplacianKernel     1000   13.30 ms   13.30 us    1.1%\n\
                   NormKernel2             1001    2.87 ms    2.87 us    0.2%\n",
};

/// Before 7.0 there was no `--version`. The flags in the help reveal the version.
fn version_by_help(offers: &dyn Fn(&str) -> bool) -> Option<ToolVersion> {
    Some(if offers("--agent-index") {
        ToolVersion(7, 0)
    } else if offers("--collection-period") || offers("--list-avail") {
        ToolVersion(6, 4)
    } else if offers("--pmc") {
        ToolVersion(6, 3)
    } else {
        ToolVersion(6, 2)
    })
}

fn build(request: &ProfileRequest, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    if let ProfileTask::Summary(path) | ProfileTask::Query(path, _) = &request.task {
        return database(request, installed, path);
    }
    let does = "ROCm's tracer: follows the program and writes down what it does on the GPU";
    let mut line = LineBuilder::new(request, installed, &installed.program, does);
    let form = OutputForm::for_task(&request.task, installed);
    match &request.task {
        ProfileTask::Runtime => {
            runtime_trace(&mut line, installed);
            line.add_if_supported(&SELECTED_REGIONS, NO_VALUE);
        }
        ProfileTask::Counters(counters) => {
            count(&mut line, request, installed, counters);
            // With 7.13 a program that selects what is counted crashed, and older versions counted everything.
            match installed.is_at_least(ToolVersion(7, 14)) {
                true => line.add_if_supported(&SELECTED_REGIONS, NO_VALUE),
                false => line.note(EVERYTHING_COUNTED),
            }
        }
        ProfileTask::InputFile(path) => {
            line.require(&INPUT, &[path]);
            if form == OutputForm::Database {
                line.note("The database has no samples and no thread trace. If the file asks for these, change `rocpd` to `csv`.");
            }
            if installed.is_at_least(V7_13)
                && path.extension().is_some_and(|extension| extension == "txt")
            {
                line.note("Since ROCm 7.13 rocprofv3 warns of input files in plain text, and AMD will remove them: convert yours to JSON or YAML with a list of `jobs`.");
            }
        }
        ProfileTask::Renamed => {
            line.require(&KERNEL_TRACE, NO_VALUE);
            line.require(&MARKER_TRACE, NO_VALUE);
            line.require(&KERNEL_RENAME, NO_VALUE);
            form.add_sums(&mut line);
            line.add_if_supported(&SELECTED_REGIONS, NO_VALUE);
        }
        ProfileTask::PcSampling => sample(&mut line, request, installed),
        ProfileTask::ThreadTrace => {
            line.require(&THREAD_TRACE, NO_VALUE);
            line.require(&THREAD_TRACE_UNIT, &["1"]);
            line.note("The first launch of each kernel is followed; --kernel-include-regex NAME follows one kernel only. It needs AMD's library rocprof-trace-decoder, whose folder --att-library-path names. Open the folders it writes, ui_output_…, in ROCprof Compute Viewer.");
        }
        ProfileTask::Attach(process) => {
            line.require(&ATTACH, &[process.to_string()]);
            line.require(&ATTACH_DURATION, &["10000"]);
            line.require(&KERNEL_TRACE, NO_VALUE);
            form.add_sums(&mut line);
        }
        _ => {
            line.require(&KERNEL_TRACE, NO_VALUE);
            form.add_sums(&mut line);
            line.add_if_supported(&TRUNCATE, NO_VALUE);
            line.add_if_supported(&MARKER_TRACE, NO_VALUE);
            line.add_if_supported(&SELECTED_REGIONS, NO_VALUE);
        }
    }
    let for_a_viewer = match request.task {
        ProfileTask::Runtime => Some("pftrace"),
        ProfileTask::ThreadTrace => Some("json"),
        _ => None,
    };
    let forms: Vec<&str> = [form.word()].into_iter().chain(for_a_viewer).collect();
    line.require(&OUTPUT_FORMAT, &forms);
    if form == OutputForm::Database {
        line.note(IN_THE_DATABASE);
    }
    line.require(&DIRECTORY, &[&request.folder]);
    line.require(&NAME, &[format!("{}_%pid%", request.name)]);
    // The process already runs, so there is no program to start.
    if !matches!(request.task, ProfileTask::Attach(_)) {
        line.target();
    }
    line.finish()
}

/// The form of the output that is imported afterwards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputForm {
    Csv,
    Database,
}

impl OutputForm {
    /// The database since there is one, because new columns are only added there. It has no samples and no instructions,
    /// and keeps the names of kernels that `--kernel-rename` replaces.
    fn for_task(task: &ProfileTask, installed: &Installed) -> Self {
        let is_in_tables_only = matches!(
            task,
            ProfileTask::PcSampling | ProfileTask::ThreadTrace | ProfileTask::Renamed
        );
        match installed.is_at_least(V7_0) && !is_in_tables_only {
            true => OutputForm::Database,
            false => OutputForm::Csv,
        }
    }

    fn word(self) -> &'static str {
        match self {
            OutputForm::Csv => "csv",
            OutputForm::Database => "rocpd",
        }
    }

    /// Asks for sums over the trace. A database has none; the tutor adds up its rows.
    fn add_sums(self, line: &mut LineBuilder<'_>) {
        if self == OutputForm::Csv {
            line.add_if_supported(&STATS, NO_VALUE);
        }
    }
}

const IN_THE_DATABASE: &str = "The database also holds the program's whole environment, the host's name and the command. Give its figures to others instead: `tinyllama-tutor profile import FILE --json` has neither environment nor command.";

/// Uses rocpd, which reads the databases. It is in the same folder as rocprofv3.
fn database(
    request: &ProfileRequest,
    installed: &Installed,
    path: &Path,
) -> Result<CommandLine, LacksFlag> {
    // The known help is that of rocprofv3.
    let installed = installed.without_help();
    let program = installed.program.with_file_name("rocpd");
    let mut line = LineBuilder::new(request, &installed, &program, "ROCm's reader of databases");
    match &request.task {
        ProfileTask::Query(_, question) => {
            line.require(&QUERY, NO_VALUE);
            line.require(&DATABASE, &[path]);
            line.require(&SQL, &[question]);
        }
        _ => {
            line.require(&SUMMARY, NO_VALUE);
            line.require(&DATABASE, &[path]);
        }
    }
    line.note(
        "rocpd needs Python's pandas. The tutor reads databases without it: `profile import`.",
    );
    line.finish()
}

const EVERYTHING_COUNTED: &str = "--selected-regions is left out: before ROCm 7.14 counters do not follow it. Warm-up, tuning and the comparison of repeats are in these figures, so there are more launches than in the counted steps.";

fn runtime_trace(line: &mut LineBuilder<'_>, installed: &Installed) {
    if installed.knows(&RUNTIME_TRACE) {
        line.require(&RUNTIME_TRACE, NO_VALUE);
        return;
    }
    line.note("--runtime-trace came with ROCm 6.3; the flags it stands for are given one by one.");
    for flag in [&HIP_TRACE, &KERNEL_TRACE, &MEMORY_COPY_TRACE, &MARKER_TRACE] {
        line.require(flag, NO_VALUE);
    }
}

/// Samples by hardware if the GPU can, otherwise by interrupts of the host.
fn sample(line: &mut LineBuilder<'_>, request: &ProfileRequest, installed: &Installed) {
    let architecture = request.architecture.as_deref().unwrap_or_default();
    let by_hardware = installed.is_at_least(V7_0)
        && (architecture.starts_with("gfx94") || architecture == "gfx950");
    let (method, unit, interval) = match by_hardware {
        true => ("stochastic", "cycles", "1048576"),
        false => ("host_trap", "time", "512"),
    };
    line.require(&SAMPLING, NO_VALUE);
    line.require(&SAMPLING_METHOD, &[method]);
    line.require(&SAMPLING_UNIT, &[unit]);
    line.require(&SAMPLING_INTERVAL, &[interval]);
    line.note("`rocprofv3 -L` lists the methods and intervals that your GPU takes. Build what you sample with line numbers to see sources next to the instructions.");
}

fn count(
    line: &mut LineBuilder<'_>,
    request: &ProfileRequest,
    installed: &Installed,
    counters: &[String],
) {
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
            line.require(&PMC, pass);
        }
    } else {
        let path = request.folder.join("counters.txt");
        let sets = passes.iter();
        let sets = sets.map(|pass| format!("pmc: {}\n", pass.join(" ")));
        line.file(path.clone(), sets.collect());
        line.require(&INPUT, &[path]);
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
