//! rocprof-sys (omnitrace in ROCm 6.2): host and device on one timeline, call trees, call stacks. Versions are those of ROCm.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::installed::Installed;
use super::line::{Builder, CommandLine};
use super::version::{Flag, Version};
use super::{Request, Task};

const V6_2: Version = Version(6, 2);

const TRACE: Flag = Flag::new("--trace", V6_2, "writes a timeline for ui.perfetto.dev");
const PROFILE: Flag = Flag::new(
    "--profile",
    V6_2,
    "writes a call tree with the time in each function (wall_clock)",
);
const PROFILE_FORMAT: Flag = Flag::new("--profile-format", V6_2, "forms of the call tree");
const OUTPUT: Flag = Flag::new(
    "--output",
    V6_2,
    "folder for the output; a folder with date and time is made in it",
);
const GENERATE: Flag = Flag::new(
    "-G",
    V6_2,
    "writes a file with every setting and its default",
);
const ALL: Flag = Flag::new("--all", V6_2, "includes descriptions of each setting");

/// Every flag of the run program that is used.
pub const FLAGS: &[Flag] = &[TRACE, PROFILE, PROFILE_FORMAT, OUTPUT];

pub fn build(request: &Request, installed: &Installed) -> CommandLine {
    match request.task {
        Task::Configuration => configuration(request, installed),
        Task::Sample => record(
            request,
            installed,
            "sample",
            "takes the host's call stack at intervals instead of following every call",
        ),
        _ => record(
            request,
            installed,
            "run",
            "follows the program on host and device",
        ),
    }
}

fn record(request: &Request, installed: &Installed, program: &str, does: &str) -> CommandLine {
    let program = sibling(&installed.program, program);
    let mut line = Builder::new(&request.launcher, installed, program.as_os_str(), does);
    line.switch(&TRACE);
    line.switch(&PROFILE);
    line.flag(&PROFILE_FORMAT, ["text", "json"]);
    line.flag(&OUTPUT, [&request.folder]);
    line.target(&request.target);
    line.note("Device metrics are sampled along with it; a trace of many steps grows to gigabytes, so keep them few.");
    line.finish(request.folder.clone())
}

fn configuration(request: &Request, installed: &Installed) -> CommandLine {
    let program = sibling(&installed.program, "avail");
    let everything = Installed {
        // The help at hand is that of the run program, not of this one.
        help: String::new(),
        ..installed.clone()
    };
    let mut line = Builder::new(
        &request.launcher,
        &everything,
        program.as_os_str(),
        "lists settings and counters",
    );
    let path = request.folder.join("rocprof-sys.cfg");
    line.flag(&GENERATE, [&path]);
    line.switch(&ALL);
    line.note(format!(
        "Edit the file, then say `export ROCPROFSYS_CONFIG_FILE={}` before a run.",
        path.display()
    ));
    line.finish(request.folder.clone())
}

/// `rocprof-sys-run` as `rocprof-sys-sample`, in the same folder.
fn sibling(run: &Path, program: &str) -> PathBuf {
    let name = run.file_name().unwrap_or_default().to_string_lossy();
    let base = name.strip_suffix("-run").unwrap_or(&name);
    run.with_file_name(OsString::from(format!("{base}-{program}")))
}
