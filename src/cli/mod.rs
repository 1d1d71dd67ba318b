//! The command line: one file per subcommand.

mod ablate;
mod analysis;
mod batch_size;
mod bench;
mod benchmark;
mod block_sizes;
mod calibrate;
mod calibrate_measure;
mod collect;
mod compare;
mod completions;
mod course;
mod diff;
mod doctor;
mod exit;
mod gradcheck;
mod instructor;
mod kernel_inputs;
mod kernels;
mod kernels_arch;
mod lessons;
mod lessons_verify;
mod output;
mod predict;
mod profile;
mod recordings;
mod regress;
mod report;
mod roofline;
mod run;
mod scale;
mod schema;
mod session;
mod signals;
mod stages;
mod switches;
mod training_args;
mod tune;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::device;

pub use exit::Exit;

/// A terminal tutor for GPU performance work on a tiny LLaMA.
///
/// Trains every version of a small language model for real, on an AMD or NVIDIA GPU, through Vulkan, or on the CPU, and
/// shows what each step costs. Without a command the course opens.
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

#[derive(Debug, Subcommand)]
enum Command {
    /// Train a target and report every step
    Run(Box<run::RunArgs>),
    /// Train a target and write its kernels as a Chrome/Perfetto trace
    Trace(Box<run::TraceArgs>),
    /// Compare step times of targets, and of other programs, in one go
    Bench(Box<bench::BenchArgs>),
    /// Measure what V4 gains and what it is made of: shapes, launches, products, replays
    Benchmark(Box<benchmark::BenchmarkArgs>),
    /// Compare targets or kept runs: phases, launches, memory, ratios with their confidence
    Compare(Box<compare::CompareArgs>),
    /// Switch a version's optimizations on and off in every combination
    Ablate(Box<ablate::AblateArgs>),
    /// Run a target over a grid of sizes and fit how time and memory grow
    Scale(Box<scale::ScaleArgs>),
    /// Find the batch size that suits the memory, with real runs
    BatchSize(Box<batch_size::BatchSizeArgs>),
    /// Measure once what this device reaches
    Calibrate(calibrate::CalibrateArgs),
    /// Place a target's step, parts and kernels under this device's ceilings
    Roofline(Box<roofline::RooflineArgs>),
    /// Predict the step time of a size that was never run, and say how far it may be off
    Predict(Box<predict::PredictArgs>),
    /// Search for the block sizes and types a target runs fastest with here
    Tune(Box<tune::TuneArgs>),
    /// Hold a target against a kept baseline
    Regress(Box<regress::RegressArgs>),
    /// Run the debugging scenario's stages side by side
    Stages(Box<stages::StagesArgs>),
    /// Compare every target's loss and gradients with a reference in f64
    Gradcheck(Box<gradcheck::GradcheckArgs>),
    /// Train every target side by side and compare the losses
    Verify(Box<gradcheck::VerifyArgs>),
    /// Say what differs between two targets, in words and source
    Diff(diff::DiffArgs),
    /// List this project's kernels, or check each against its reference on this device
    Kernels(kernels::KernelsArgs),
    /// Say what this machine has, what is missing, and what to do about it
    Doctor(doctor::DoctorArgs),
    /// List, show, write and check the lessons of the course
    Lessons(lessons::LessonsArgs),
    /// Show, check, pack and unpack what is kept of a learner
    Session(session::SessionArgs),
    /// Look after a class: who stands where, who is stuck, and what to do about it
    Instructor(Box<instructor::InstructorArgs>),
    /// Write a session as a report, check a hand-in, or put a class on one page
    Report(Box<report::ReportArgs>),
    /// List, show and play runs that were recorded on other machines
    Recordings(recordings::RecordingsArgs),
    /// Run a profiler on a target, or read what one wrote
    Profile(Box<profile::ProfileArgs>),
    /// Print a shell's completion script
    Completions(completions::CompletionsArgs),
    /// Print the JSON Schema of a machine-readable output
    Schema(schema::SchemaArgs),
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; a closed pipe while printing them is none either.
            drop(error.print());
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            }
            .into();
        }
    };
    let Some(command) = cli.command else {
        return course::run(cli.course).into();
    };
    let result = match command {
        Command::Run(args) => run::run(&args),
        Command::Trace(args) => run::trace(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Benchmark(args) => benchmark::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Ablate(args) => ablate::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::BatchSize(args) => batch_size::run(&args),
        Command::Calibrate(args) => calibrate::run(&args, calibrate_measure::measure),
        Command::Roofline(args) => roofline::run(&args, kernel_inputs::works),
        Command::Predict(args) => predict::run(&args),
        Command::Tune(args) => tune::run(&args, &kernel_inputs::tunables()),
        Command::Regress(args) => regress::run(&args),
        Command::Stages(args) => stages::run(&args),
        Command::Gradcheck(args) => gradcheck::gradcheck(&args),
        Command::Verify(args) => gradcheck::verify(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Kernels(args) => kernels::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Lessons(args) => lessons::run(&args),
        Command::Session(args) => session::run(&args),
        Command::Instructor(args) => instructor::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Profile(args) => {
            return profile::run(*args).unwrap_or_else(|error| exit::report(&error).into());
        }
        Command::Recordings(args) => recordings::run(&args),
        Command::Completions(args) => completions::run::<Cli>(&args),
        Command::Schema(args) => schema::run(&args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) => exit::report(&device::explain(error)).into(),
    }
}
