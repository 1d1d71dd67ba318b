//! `profile`: runs AMD's profilers on a target, and makes their files readable.
//!
//! Exit codes: 0 done; 1 the profiler failed or a file is damaged; 2 wrong usage; 3 the tool is not installed.

mod all;
mod import;
mod launch;
mod outcome;
mod print;
mod tools;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use super::Exit;
use tinyllama_contract::bounds;
use tinyllama_engine::targets::{self, Target};
use tinyllama_profile::commands::installed::OLDEST_ROCM;
use tinyllama_profile::commands::version::ToolVersion;
use tinyllama_profile::commands::{ProfileTask, Tool};
use tinyllama_profile::show::hotspots::GroupBy;
use tinyllama_profile::show::report::ReportOptions;
use tinyllama_runs::Launcher;

#[derive(Debug, Subcommand)]
pub enum ProfileCommand {
    /// Measure kernels, API calls and hardware counters with rocprofv3.
    Rocprofv3 {
        #[arg(long, value_parser = kinds(Tool::Rocprofv3), default_value = "hotspots")]
        kind: ProfileTask,
        /// Hardware counters instead of the default set, for --kind counters.
        #[arg(long, value_delimiter = ',', num_args = 1..)]
        counters: Vec<String>,
        /// Your own input file, for --kind input.
        #[arg(long, value_name = "FILE", required_if_eq("kind", "input"))]
        input: Option<PathBuf>,
        /// Id of the process to attach to, for --kind attach.
        #[arg(long, value_name = "PROCESS", required_if_eq("kind", "attach"), value_parser = bounds::PROCESS)]
        pid: Option<u32>,
        #[command(flatten)]
        launch: LaunchArgs,
    },
    /// Show host and device on one timeline with rocprof-sys.
    RocprofSys {
        #[arg(long, value_parser = kinds(Tool::RocprofSys), default_value = "run")]
        kind: ProfileTask,
        #[command(flatten)]
        launch: LaunchArgs,
    },
    /// Measure every counter of the device, or a roofline, with rocprof-compute.
    RocprofCompute {
        #[arg(long, value_parser = kinds(Tool::RocprofCompute), default_value = "profile")]
        kind: ProfileTask,
        #[command(flatten)]
        launch: LaunchArgs,
    },
    /// Show tables of a workload folder from rocprof-compute, or of a database from rocprofv3.
    Analyze(AnalyzeArgs),
    /// Explain why rocprof is gone, and which command replaces it.
    Rocprof(Ignored),
    /// Explain why rocprofv2 is gone, and which command replaces it.
    Rocprofv2(Ignored),
    /// Run every installed profiler, one after the other, and write one folder with an index.
    All(LaunchArgs),
    /// Read a file or folder that a profiler wrote on any machine.
    Import(ImportArgs),
    /// Compare two profiles: which kernels vanished, appeared or changed.
    Compare(CompareArgs),
    /// List the installed profilers with their versions.
    Tools {
        #[arg(long)]
        json: bool,
    },
}

/// Arguments that users may still type after the name of an old tool. They have no effect.
#[derive(Debug, Args)]
pub struct Ignored {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub struct AnalyzeArgs {
    /// A folder for rocprof-compute analyze, or a file for rocpd.
    workload: PathBuf,
    /// Ask a database this question in SQL, such as "SELECT * FROM top_kernels".
    #[arg(long, value_name = "SQL", conflicts_with_all = ["list_stats", "dispatch"])]
    query: Option<String>,
    /// Show only the kernels with their numbers.
    #[arg(long)]
    list_stats: bool,
    /// Show only this dispatch, by its number from --list-stats.
    #[arg(long, conflicts_with = "list_stats")]
    dispatch: Option<u64>,
    #[arg(long)]
    print: bool,
    /// Print the command for this version of ROCm, regardless of the installed one.
    #[arg(long, value_name = "X.Y", value_parser = rocm)]
    for_rocm: Option<ToolVersion>,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// File or folder; `lessons/profiles/NAME` is a sample of the course, in every folder.
    path: PathBuf,
    #[command(flatten)]
    view: ViewArgs,
    /// Also write the timeline as a trace for ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    before: PathBuf,
    after: PathBuf,
    #[command(flatten)]
    view: ViewArgs,
}

/// How to run a target under a profiler.
#[derive(Debug, Args)]
pub struct LaunchArgs {
    #[arg(help = targets::help("What to profile"))]
    target: Target,
    /// Print the command line with each flag explained, without running it.
    #[arg(long)]
    print: bool,
    /// Print the command line for this version of ROCm, regardless of the installed one.
    #[arg(long, value_name = "X.Y", value_parser = rocm)]
    for_rocm: Option<ToolVersion>,
    /// Folder for the output (default: a new one below `profiles`).
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Launcher for the profiler: local, slurm, or a command to put before it, such as "srun --gpus=1".
    #[arg(long, value_name = "WHERE", env = "TINYLLAMA_LAUNCHER", value_parser = Launcher::check_flag)]
    launcher: Option<String>,
    /// The GPU's architecture, such as gfx942, if the driver does not report it.
    #[arg(long)]
    arch: Option<String>,
    /// Let the profiler use the terminal instead of listing its output.
    #[arg(long, conflicts_with = "json")]
    terminal: bool,
    #[command(flatten)]
    view: ViewArgs,
    /// Flags for the target, after `--`.
    #[arg(last = true)]
    run_flags: Vec<std::ffi::OsString>,
}

/// How to show a profile.
#[derive(Clone, Debug, Args)]
pub struct ViewArgs {
    /// How to group launches into kernels.
    #[arg(long, value_enum, default_value = "name")]
    by: GroupBy,
    /// Maximum number of lines in each table.
    #[arg(long, default_value_t = 15, value_parser = bounds::ROWS)]
    rows: usize,
    /// Event stream of a run of the same target with --profile-steps; it names the model part that launched each
    /// kernel.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    json: bool,
}

impl ViewArgs {
    fn options(&self) -> ReportOptions {
        ReportOptions {
            group: self.by,
            rows: self.rows,
        }
    }
}

fn rocm(text: &str) -> Result<ToolVersion, String> {
    // The versions that tools report have more around their numbers than a flag may.
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let version = text.parse().ok().filter(|_| is_plain);
    let version: ToolVersion =
        version.ok_or("a version of ROCm is written X.Y, such as 7.2".to_owned())?;
    match version >= OLDEST_ROCM {
        true => Ok(version),
        false => Err(format!("commands are known since ROCm {OLDEST_ROCM}")),
    }
}

/// The kinds of a profiler's tasks as values of a flag.
fn kinds(tool: Tool) -> impl TypedValueParser<Value = ProfileTask> {
    let kinds = tool.tasks().filter_map(|task| task.kind());
    let values = kinds.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(move |name| tool.task(Some(&name)))
}

pub fn run(command: &ProfileCommand) -> anyhow::Result<Exit> {
    match command {
        ProfileCommand::Rocprofv3 {
            kind,
            counters,
            input,
            pid,
            launch,
        } => {
            let task = match (kind, input, pid) {
                (ProfileTask::InputFile(_), Some(path), _) => ProfileTask::InputFile(path.clone()),
                (ProfileTask::Attach(_), _, Some(process)) => ProfileTask::Attach(*process),
                (ProfileTask::Counters(_) | ProfileTask::InputFile(_), ..) => {
                    ProfileTask::Counters(counters.clone())
                }
                (task, ..) => task.clone(),
            };
            launch::profile(task, launch)
        }
        ProfileCommand::RocprofSys { kind, launch }
        | ProfileCommand::RocprofCompute { kind, launch } => launch::profile(kind.clone(), launch),
        ProfileCommand::Analyze(args) => launch::analyze(args),
        ProfileCommand::Rocprof(words) | ProfileCommand::Rocprofv2(words) => tools::legacy(words),
        ProfileCommand::All(launch) => all::profile_all(launch),
        ProfileCommand::Import(args) => import::import(args),
        ProfileCommand::Compare(args) => import::compare(args),
        ProfileCommand::Tools { json } => tools::list(*json),
    }
}
