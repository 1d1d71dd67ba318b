//! rocprof-sys (omnitrace in ROCm 6.2): host and device on one timeline, call trees, call stacks. Its versions are those
//! of ROCm.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::installed::Installed;
use super::line::{CommandLine, LacksFlag, LineBuilder, NO_VALUE};
use super::version::{ToolVersion, flags};
use super::{About, ProfileRequest, ProfileTask};

flags! {
    TRACE = "--trace" (6, 2): "writes a timeline for ui.perfetto.dev";
    PROFILE = "--profile" (6, 2): "writes a call tree with the time in each function (wall_clock); since ROCm 10.1 only on request";
    PROFILE_FORMAT = "--profile-format" (6, 2): "forms of the call tree",
        or "the tool chooses the forms of the call tree, and the tutor reads text and JSON.";
    OUTPUT = "--output" (6, 2): "folder for the output; a folder with date and time is made in it";
    GENERATE = "-G" (6, 2): "writes a file with every setting and its default";
    ALL = "--all" (6, 2): "includes descriptions of each setting",
        or "the file has no descriptions of the settings.";
}

pub const ABOUT: About = About {
    name: "rocprof-sys",
    programs: &["rocprof-sys-run", "omnitrace-run"],
    how_to_install: "Install the package `rocprofiler-systems` (ROCm 6.3 to 7.12) or `amdrocm-profiler` (7.13 and later) from AMD's repository, then put /opt/rocm/bin (/opt/rocm/core/bin since 7.13) on the PATH. In ROCm 6.2 it was called omnitrace.",
    // Since ROCm 7.13 `--help` answers only with a summary.
    help: &[&["--help=all"], &["--help"]],
    version_labels: &["rocm:", "rocm version"],
    version_by_help: |_| None,
    version_in: |rocm| rocm,
    build,
    sample_from: "the call tree of a conjugate gradient solver, published in AMD's documentation; not measured here",
    sample: "region                       thread  calls     total    self\n\
                   main                              0      1  13.360 s   18.2%\n\
                   ompt_thread_initial               0      1  10.924 s    0.0%\n\
                   ompt_parallel                     0      1  10.915 s    0.0%\n\
                   conj_grad                         0     76  10.641 s    1.0%\n",
};

fn build(request: &ProfileRequest, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    let (program, does) = match request.task {
        ProfileTask::Configuration => return configuration(request, installed),
        ProfileTask::Sample => (
            "sample",
            "takes the host's call stack at intervals instead of following every call",
        ),
        _ => ("run", "follows the program on host and device"),
    };
    let program = sibling(&installed.program, program);
    let mut line = LineBuilder::new(request, installed, &program, does);
    line.require(&TRACE, NO_VALUE);
    line.require(&PROFILE, NO_VALUE);
    line.add_if_supported(&PROFILE_FORMAT, &["text", "json"]);
    line.require(&OUTPUT, &[&request.folder]);
    line.target();
    if installed.is_at_least(ToolVersion(10, 1)) {
        line.note("A database, rocpd.db, is written besides: since ROCm 10.1 it is the tool's usual output. --output-format would replace --trace and --profile and cannot be combined with them.");
    }
    line.note("Device metrics are sampled along with it; a trace of many steps grows to gigabytes, so keep them few.");
    line.finish()
}

fn configuration(
    request: &ProfileRequest,
    installed: &Installed,
) -> Result<CommandLine, LacksFlag> {
    let program = sibling(&installed.program, "avail");
    // The known help is that of `rocprof-sys-run`, not of this program.
    let installed = installed.without_help();
    let does = "lists settings and counters";
    let mut line = LineBuilder::new(request, &installed, &program, does);
    let path = request.folder.join("rocprof-sys.cfg");
    line.require(&GENERATE, &[&path]);
    line.add_if_supported(&ALL, NO_VALUE);
    line.note(format!(
        "Edit the file, then say `export ROCPROFSYS_CONFIG_FILE={}` before a run.",
        path.display()
    ));
    line.finish()
}

/// Path of another program in the same folder: `rocprof-sys-sample` for `rocprof-sys-run`.
fn sibling(run: &Path, program: &str) -> PathBuf {
    let name = run.file_name().unwrap_or_default().to_string_lossy();
    let base = name.strip_suffix("-run").unwrap_or(&name);
    run.with_file_name(OsString::from(format!("{base}-{program}")))
}
