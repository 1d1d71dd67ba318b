//! The command line: the subcommands with their arguments, and the code they share.

mod ablate;
mod analysis;
mod batch_size;
mod benchmark;
mod block_sizes;
mod calibrate;
mod collect;
mod compare;
mod completions;
mod course;
mod diff;
mod doctor;
mod doctor_driver;
mod doctor_launcher;
mod doctor_machine;
#[cfg(test)]
#[path = "documents/tests.rs"]
mod documents;
mod exit;
mod gradcheck;
mod instructor;
mod kernel_inputs;
mod kernels;
mod kernels_arch;
mod launch;
mod lessons;
mod lessons_verify;
mod predict;
mod prepare;
mod print_result;
mod profile;
mod pytorch;
mod ranks;
mod recordings;
mod regress;
mod report;
mod roofline;
mod run;
mod run_printers;
mod runs;
mod scale;
mod schema;
mod session;
mod signals;
mod stages;
mod tune;
mod workbench;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use self::analysis::AnalysisCommand;
use tinyllama_base::child::end_with_starter;
use tinyllama_base::scratch::remove_abandoned;
use tinyllama_base::terminal::Stderr;
use tinyllama_base::{errln, tutor_log};
use tinyllama_contract::flags;
use tinyllama_contract::flags::UsageError;
use tinyllama_runs::folder;

pub use exit::Exit;

/// A terminal tutor for GPU performance work on a tiny LLaMA.
///
/// It trains every version of a small language model for real, on an AMD or NVIDIA GPU, through Vulkan, or on the
/// CPU, and shows what each step costs. Without a command it opens the course.
#[derive(Debug, Parser)]
#[command(name = "tinyllama-tutor", version, propagate_version = true)]
#[command(
    after_help = "Exit status: 0 done, 1 a check failed, 2 wrong usage, 3 something is missing on this machine."
)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(flatten)]
    course: course::CourseArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Declares the subcommands, each with the function that runs it.
macro_rules! commands {
    ($($(#[$about:meta])* $name:ident($args:ty) = $run:expr,)+) => {
        #[derive(Debug, Subcommand)]
        enum Command { $($(#[$about])* $name($args),)+ }

        impl Command {
            fn run(&self) -> Result<Exit> {
                match self { $(Command::$name(args) => $run(args),)+ }
            }
        }
    };
}

commands! {
    /// Train a target and report every step
    Run(Box<run::RunArgs>) = run::run,
    /// The old name of `compare`
    #[command(hide = true, disable_help_flag = true)]
    Bench(BenchArgs) = moved,
    /// Train a target and write its kernels as a Chrome/Perfetto trace
    Trace(Box<run::TraceArgs>) = run::trace,
    /// Measure V4's gains and their parts: shapes, launches, products
    #[command(subcommand)]
    Benchmark(Box<benchmark::BenchmarkCommand>) = benchmark::run,
    /// Compare targets, other programs or stored runs: phases, launches, memory, ratios with their confidence
    Compare(Box<AnalysisCommand<compare::CompareArgs>>) = AnalysisCommand::run,
    /// Switch a version's optimizations on and off in every combination
    Ablate(Box<AnalysisCommand<ablate::AblateArgs>>) = AnalysisCommand::run,
    /// Run a target over a grid of sizes and fit how time and memory grow
    Scale(Box<AnalysisCommand<scale::ScaleArgs>>) = AnalysisCommand::run,
    /// Find the best batch size for throughput or memory, with real runs
    BatchSize(Box<AnalysisCommand<batch_size::BatchSizeArgs>>) = AnalysisCommand::run,
    /// Measure this device's peak rates once and store them
    Calibrate(AnalysisCommand<calibrate::CalibrateArgs>) = AnalysisCommand::run,
    /// Show a target's step, parts and kernels under this device's ceilings
    Roofline(Box<AnalysisCommand<roofline::RooflineArgs>>) = AnalysisCommand::run,
    /// Predict the step time for a model size that never ran, with an estimate of the error
    Predict(Box<AnalysisCommand<predict::PredictArgs>>) = AnalysisCommand::run,
    /// Search for the block sizes and types with which a target runs fastest on this device
    Tune(Box<AnalysisCommand<tune::TuneArgs>>) = AnalysisCommand::run,
    /// Compare a target with a stored baseline
    Regress(Box<AnalysisCommand<regress::RegressArgs>>) = AnalysisCommand::run,
    /// Run the stages of the debugging scenario and compare them
    Stages(Box<AnalysisCommand<stages::StagesArgs>>) = AnalysisCommand::run,
    /// Compare every target's loss and gradients with a reference in f64
    Gradcheck(Box<gradcheck::GradcheckArgs>) = gradcheck::gradcheck,
    /// Train every target and compare the losses
    Verify(Box<gradcheck::CheckArgs>) = gradcheck::verify,
    /// Show the differences between two targets as text and source code
    Diff(diff::DiffArgs) = diff::run,
    /// Write your own GPU kernels, checked with or without a GPU
    Workbench(workbench::WorkbenchArgs) = workbench::run,
    /// List this project's kernels, or compare each with its reference on this device
    Kernels(kernels::KernelsArgs) = kernels::run,
    /// Compile and tune every target of the course in advance, so that learners do not wait
    Prepare(prepare::PrepareArgs) = prepare::run,
    /// Report what this machine has, what is missing, and what to do about it
    Doctor(doctor::DoctorArgs) = doctor::run,
    /// List, show, write and check the lessons of the course
    Lessons(lessons::LessonsArgs) = lessons::run,
    /// Show, check, pack and unpack a learner's session
    Session(session::SessionCommandArgs<session::SessionCommand>) = session::run,
    /// Manage a class: see each learner's progress, who is stuck, and what to do about it
    Instructor(Box<instructor::InstructorArgs>) = instructor::run,
    /// Write a session as a report, check a hand-in, or summarise a class on one page
    Report(Box<report::ReportArgs>) = report::run,
    /// List, show, compare and prune the stored runs of this machine
    Runs(session::SessionCommandArgs<runs::RunsCommand>) = session::SessionCommandArgs::run,
    /// List, show and play recorded runs of other machines
    Recordings(recordings::RecordingsArgs) = recordings::run,
    /// Run a profiler on a target, or read a profiler's files
    #[command(subcommand)]
    Profile(Box<profile::ProfileCommand>) = profile::run,
    /// Run a PyTorch script of the course, or your version of an exercise in Triton
    Pytorch(pytorch::PytorchArgs) = pytorch::run,
    /// The processes of a launcher
    #[command(subcommand, hide = true)]
    Launch(launch::LaunchCommand) = launch::run,
    /// Print a shell's completion script
    Completions(completions::CompletionsArgs) = completions::run::<Cli>,
    /// Print the JSON Schema of a machine-readable output
    Schema(schema::SchemaArgs) = schema::run,
}

#[derive(Debug, clap::Args)]
struct BenchArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

fn moved(args: &BenchArgs) -> Result<Exit> {
    let line = shlex::try_join(args.args.iter().map(String::as_str)).unwrap_or_default();
    bail!(UsageError(format!(
        "`bench` is part of `compare`: tinyllama-tutor compare {line}"
    )))
}

/// Checks that this program accepts a command line, given without the program's name.
///
/// # Errors
/// Returns the message that the program would print.
fn check_args(line: &[String]) -> Result<(), String> {
    let program = ["tinyllama-tutor".to_string()];
    Cli::try_parse_from(program.iter().chain(line))
        .map(drop)
        .map_err(|error| {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            line.trim_start_matches("error: ").to_string()
        })
}

/// Names of the commands that help lists.
fn command_names() -> Vec<String> {
    let program = Cli::command();
    let commands = program.get_subcommands();
    let shown = commands.filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).collect()
}

/// Takes a `--` out of commands that take a run's flags themselves. Other commands need it in front of such flags.
fn without_separator(mut words: Vec<OsString>) -> Vec<OsString> {
    let takes_flags = |word: &OsString| ["run", "verify", "gradcheck"].iter().any(|it| word == it);
    if words.get(1).is_some_and(takes_flags)
        && let Some(at) = words.iter().position(|word| word == "--")
    {
        words.remove(at);
    }
    words
}

/// Lets every flag take negative numbers, so that the flag reports what is wrong with them. Help lists a command's own
/// flags before those that it shares with the commands around it.
fn with_usual_flags(command: clap::Command) -> clap::Command {
    let inside = command
        .get_subcommands()
        .map(|inner| inner.get_name().to_owned());
    let inside: Vec<String> = inside.collect();
    let command = command.mut_args(|arg| {
        let arg = match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        };
        match arg.is_global_set() {
            true => arg.display_order(900),
            false => arg,
        }
    });
    inside.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, with_usual_flags)
    })
}

/// Runs the program.
pub fn main() -> ExitCode {
    end_with_starter();
    remove_abandoned();
    let log = folder::state_folder().map(|state| tutor_log::start(&state));
    if let Ok(Err(error)) = log {
        errln!("cannot write the log: {error}");
    }
    let words = without_separator(std::env::args_os().collect());
    let matches = with_usual_flags(Cli::command()).try_get_matches_from(words);
    let exit = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => {
            let result = match cli.command {
                Some(command) => command.run(),
                None => course::run(cli.course),
            };
            result.unwrap_or_else(|error| exit::report(&exit::explain(error)))
        }
        Err(error) => {
            // Help and version are not errors, and neither is a pipe that closes while they are printed.
            match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => drop(error.print()),
                _ => {
                    let text = flags::usage_error_text(&error);
                    drop(Stderr.write_all(text.as_bytes()));
                }
            }
            match error.use_stderr() {
                true => Exit::Usage,
                false => Exit::Ok,
            }
        }
    };
    ExitCode::from(exit.code())
}
