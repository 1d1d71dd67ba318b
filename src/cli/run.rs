//! `run` and `trace`: train a target in this process.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Error, Result};
use clap::Args;

use super::exit::{self, Exit};
use super::ranks::{self, SchedulerTask};
use super::run_printers::{DocumentPrinter, JsonLines, LinePrinter};
use super::{block_sizes, signals};
use tinyllama_base::panics::{self, Panicked};
use tinyllama_base::terminal::Stdout;
use tinyllama_base::{errln, file};
use tinyllama_contract::bounds;
use tinyllama_contract::event::{Body, Failure, FailureCode, PhaseName};
use tinyllama_contract::flags::{Dtype, ReportArgs, RunFlags, TrainingArgs, UsageError};
use tinyllama_contract::model::ConfigError;
use tinyllama_engine::device::driver::{DriverError, ErrorClass};
use tinyllama_engine::device::{self, BackendFailure, DeviceError};
use tinyllama_engine::model::Weights;
use tinyllama_engine::targets::{self, Target};
use tinyllama_engine::train::{
    self, Data, EngineDevice, EventSink, Reporter, StopReason, StopSignal, Tally, TrainingEnd,
    TrainingOptions,
};
use tinyllama_learner_kernels::agreement;

#[derive(Debug, Args)]
pub struct RunArgs {
    #[arg(help = targets::help("What to train"), long_help = targets::list("What to train"))]
    target: Target,
    #[command(flatten)]
    flags: RunFlags,
}

#[derive(Debug, Args)]
pub struct TraceArgs {
    #[arg(help = targets::help("What to train"), long_help = targets::list("What to train"))]
    target: Target,
    /// File to write; one that ends in .pftrace has Perfetto's own format
    #[arg(long, short, value_name = "FILE", default_value = "trace.json")]
    output: PathBuf,
    /// Number of steps in the trace
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = bounds::PROFILED_STEPS)]
    profile_steps: usize,
    #[command(flatten)]
    training: TrainingArgs,
}

pub fn run(args: &RunArgs) -> Result<Exit> {
    let flags = &args.flags;
    let mut options = flags.options(args.target)?;
    options.kernels = agreement::read_named(&flags.kernel, args.target)?;
    let several = flags.ranks.gpu_count();
    let mut task = None;
    if let Some((rank, device)) = ranks::from_environment(&flags.ranks)? {
        options.flags.on.device = Some(device);
        if rank.rank != 0 {
            // Only the first rank writes the trace file.
            options.report.trace = None;
        }
        options.ranks = Some(rank);
    } else if let Some(ranks) = several {
        task = SchedulerTask::from_environment(ranks)?;
        if let Some(task) = task.as_ref().filter(|task| !task.is_first()) {
            return task.run_follower();
        }
    }
    let sink: Box<dyn EventSink> = if flags.events || options.ranks.is_some() {
        Box::new(JsonLines(Stdout))
    } else if flags.json {
        Box::new(DocumentPrinter::new(Stdout))
    } else {
        Box::new(LinePrinter::new(Stdout))
    };
    match several.filter(|_| options.ranks.is_none()) {
        Some(ranks) => run_ranks(ranks, task.as_ref(), &options, sink),
        None => execute(&options, sink),
    }
}

/// Starts the ranks, each in a separate process.
fn run_ranks(
    ranks: usize,
    task: Option<&SchedulerTask>,
    options: &TrainingOptions,
    sink: Box<dyn EventSink>,
) -> Result<Exit> {
    let (reporter, stop) = reporting(options, sink)?;
    let (end, failed) = ranks::run_ranks(ranks, task, &reporter, &stop)?;
    Ok(failed.unwrap_or_else(|| conclude(end, &reporter)))
}

/// A reporter for a run that ends on signals.
fn reporting(
    options: &TrainingOptions,
    sink: Box<dyn EventSink>,
) -> Result<(Reporter, StopSignal)> {
    let stop = StopSignal::default();
    let tensors = options.recipe.tensors(&options.config);
    let reporter = Reporter::new(sink, Tally::new(options.config, tensors), stop.clone());
    signals::watch(stop.clone(), reporter.clone())?;
    Ok((reporter, stop))
}

pub fn trace(args: &TraceArgs) -> Result<Exit> {
    let mut options = args.training.options(args.target)?;
    options.report = ReportArgs {
        profile_steps: args.profile_steps.max(1),
        trace: Some(args.output.clone()),
        flops: true,
        ..ReportArgs::default()
    };
    let sink = Box::new(LinePrinter::new(Stdout));
    let exit = execute(&options, sink)?;
    if exit == Exit::Ok {
        writeln!(
            Stdout,
            "\nwrote {}; open it in https://ui.perfetto.dev",
            args.output.display()
        )?;
    }
    Ok(exit)
}

/// Trains and reports. Errors reach the event stream before the caller.
fn execute(options: &TrainingOptions, sink: Box<dyn EventSink>) -> Result<Exit> {
    let (reporter, stop) = reporting(options, sink)?;
    match catch_panics(|| train_target(options, &reporter, &stop)) {
        Ok(end) => Ok(conclude(end, &reporter)),
        Err(error) => {
            let error = exit::explain(error);
            reporter.fail(failure(&error));
            Err(error)
        }
    }
}

fn train_target(
    options: &TrainingOptions,
    reporter: &Reporter,
    stop: &StopSignal,
) -> Result<TrainingEnd> {
    let flags = &options.flags;
    let data = match &flags.data {
        Some(path) => Data::text(path, &options.config, flags.seed)?,
        None => Data::synthetic(&options.config, flags.seed),
    };
    if let Some(path) = &options.report.trace {
        // Fail here rather than after minutes of tuning and training.
        file::check_output(path).map_err(|why| {
            UsageError(format!("cannot write the trace {}: {why}", path.display()))
        })?;
    }
    block_sizes::check(options)?;
    let (options, engine) = &open(options)?;
    let facts = engine.facts();
    if let Some(memory) = facts.memory {
        let rank = options.ranks.as_ref();
        let config = rank.map_or(options.config, |rank| rank.share_of(&options.config));
        config.validate_memory(memory, &facts.device)?;
    }
    let mut hello = train::hello(options, facts, &data, engine.matrix_products(options));
    let sizes = &flags.switches.block_size;
    let note = block_sizes::apply_block_sizes(sizes, options.target, &mut hello)?;
    reporter.emit(Body::Hello(Box::new(hello)));
    let (choice, wanted) = (flags.on.backend, flags.on.device.as_deref());
    let passed_over = device::explain_passed_over(choice, wanted, engine.backend());
    for message in note.into_iter().chain(passed_over) {
        reporter.note(message);
    }
    reporter.phase(PhaseName::Setup, "drawing the initial weights".into());
    let weights = Weights::new(&options.config, flags.seed, options.recipe.initialisation);
    if !options.kernels.is_empty() {
        let message = agreement::check(options, engine.as_ref(), &weights)?;
        reporter.note(message);
    }
    train::train(options, engine.as_ref(), &weights, data, reporter, stop)
}

/// Opens the device, and adapts the options to it.
fn open(options: &TrainingOptions) -> Result<(TrainingOptions, Box<dyn EngineDevice>)> {
    let mut options = options.clone();
    let mut device = targets::open(&options);
    let refuses = |error: &Error| {
        let why = error.downcast_ref();
        matches!(why, Some(DeviceError::UnsupportedType { .. }))
    };
    if options.flags.dtype == Dtype::Half && device.as_ref().is_err_and(refuses) {
        options.flags.dtype = Dtype::F16;
        device = targets::open(&options);
    }
    Ok((options, device?))
}

fn conclude(end: TrainingEnd, reporter: &Reporter) -> Exit {
    match end {
        TrainingEnd::Complete => {
            reporter.finish(true);
            Exit::Ok
        }
        TrainingEnd::NotDeterministic | TrainingEnd::RanksDiffer => {
            reporter.finish(true);
            Exit::Failed
        }
        TrainingEnd::Stopped(StopReason::Signal(signal)) => {
            reporter.finish(false);
            Exit::Signal(signal)
        }
        // A closed pipe means that the reader needs no more lines; a full disk is an error.
        TrainingEnd::Stopped(StopReason::OutputClosed(io::ErrorKind::BrokenPipe)) => Exit::Ok,
        TrainingEnd::Stopped(StopReason::OutputClosed(kind)) => {
            errln!("error: the output cannot be written: {kind}");
            Exit::Environment
        }
        TrainingEnd::NotFinite(step) => {
            let failure = Failure {
                code: FailureCode::NotFinite,
                message: format!("the loss is not finite at step {step}"),
                remedy:
                    "Lower --learning-rate; with --dtype f16, use bf16 instead: its range is that of f32."
                        .into(),
            };
            errln!("error: {}\n       {}", failure.message, failure.remedy);
            reporter.fail(failure);
            Exit::Failed
        }
    }
}

/// Runs `work` and turns panics into errors. So a driver's panic gives a message and an exit status, not a backtrace.
fn catch_panics<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    static PLACE: Mutex<Option<String>> = Mutex::new(None);
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        if let (Ok(mut place), Some(location)) = (PLACE.lock(), info.location()) {
            // The first panic is the cause. Device threads that fail later are only consequences.
            place.get_or_insert_with(|| location.to_string());
        }
    }));
    let result = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(previous);
    result.unwrap_or_else(|panic| {
        let place = PLACE.lock().ok().and_then(|place| place.clone());
        Err(anyhow::Error::new(Panicked {
            place: place.unwrap_or_default(),
            message: panics::message(panic.as_ref()),
        }))
    })
}

/// Turns `error` into the last event of the stream.
fn failure(error: &anyhow::Error) -> Failure {
    let code = code(error);
    let remedy = match code {
        FailureCode::OutOfMemory => {
            "Lower --batch-size or --seq-len, or end other programs on this device.".into()
        }
        FailureCode::Usage => "Correct the flag named above.".into(),
        FailureCode::Environment => exit::remedy(error).unwrap_or_default(),
        FailureCode::Device => exit::remedy(error).unwrap_or_else(|| {
            "Run `tinyllama-tutor doctor`; if it finds nothing, report this with the message above.".into()
        }),
        _ => "Report this with the message above.".into(),
    };
    Failure {
        code,
        message: format!("{error:#}"),
        remedy,
    }
}

/// Chooses a code by the types in the chain of `error`.
fn code(error: &anyhow::Error) -> FailureCode {
    let of_cause = |cause: &(dyn std::error::Error + 'static)| {
        let refusal = cause.downcast_ref().map(DriverError::refusal);
        Some(match cause.downcast_ref() {
            Some(BackendFailure::OutOfMemory { .. }) => FailureCode::OutOfMemory,
            Some(_) => FailureCode::Device,
            None if refusal == Some(ErrorClass::OutOfMemory) => FailureCode::OutOfMemory,
            None if matches!(cause.downcast_ref(), Some(ConfigError::OutOfMemory { .. })) => {
                FailureCode::OutOfMemory
            }
            None if refusal == Some(ErrorClass::Fault) || cause.is::<Panicked>() => {
                FailureCode::Device
            }
            None => return None,
        })
    };
    if let Some(code) = error.chain().find_map(of_cause) {
        return code;
    }
    match exit::classify(error) {
        Exit::Usage => FailureCode::Usage,
        Exit::Environment => FailureCode::Environment,
        _ => FailureCode::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_engine::train::DataError;

    #[test]
    fn the_kind_of_a_failure_comes_from_its_type_and_not_from_its_words() {
        let of = |error: anyhow::Error| failure(&exit::explain(error)).code;
        let named = DataError::Unreadable {
            path: "out of memory.txt".into(),
            why: io::Error::from(io::ErrorKind::NotFound),
        };
        assert_eq!(of(named.into()), FailureCode::Usage);
        let config = tinyllama_engine::model::Preset::Medium.config();
        let refused = config.validate_memory(1 << 20, "a panicked card");
        assert_eq!(of(refused.unwrap_err().into()), FailureCode::OutOfMemory);
        let full = anyhow::anyhow!("Caused by: out of device memory allocating 4096 bytes");
        assert_eq!(of(full.context("a step")), FailureCode::OutOfMemory);
        let panicked = |message: &str| {
            of(anyhow::Error::new(Panicked {
                place: "here.rs:1".into(),
                message: message.into(),
            }))
        };
        assert_eq!(panicked("index out of bounds"), FailureCode::Device);
        assert_eq!(
            panicked("CUDA_ERROR_OUT_OF_MEMORY"),
            FailureCode::OutOfMemory
        );
        let other = anyhow::anyhow!("somebody panicked on paper");
        assert_eq!(of(other), FailureCode::Internal);
    }
}
