//! `run` and `trace`: train a target in this process.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};
use clap::{ArgGroup, Args};

use super::block_sizes;
use super::exit::{self, Exit};
use super::output::{Document, JsonLines, Lines};
use super::signals;
use super::training_args::TrainingArgs;
use crate::device::{self, BackendFailure, CacheSettings, DeviceFacts, Tuning};
use crate::model::{Target, Weights};
use crate::panics;
use crate::train::event::{Body, Failure, FailureCode, Note, Phase, PhaseName};
use crate::train::{
    self, Data, Ending, EventSink, Options, Reporter, StopReason, StopSignal, Tally, ultra,
};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("output").multiple(false))]
pub struct RunArgs {
    /// What to train: v1 to v4, stage1 to stage6
    target: Target,
    #[command(flatten)]
    training: TrainingArgs,
    /// Show the numbers in every layer before the first step
    #[arg(long, help_heading = "Report")]
    diagnose: bool,
    /// Time every kernel of this many extra steps
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Report")]
    profile_steps: usize,
    /// Write the profile pass as a Chrome/Perfetto trace
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    trace: Option<PathBuf>,
    /// Count floating-point operations and bytes of every part
    #[arg(long, help_heading = "Report")]
    flops: bool,
    /// Let the trained model continue the text by this many bytes
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        requires = "data",
        help_heading = "Report"
    )]
    sample: usize,
    /// Print one JSON object a line, as it happens
    #[arg(long, group = "output", help_heading = "Report")]
    events: bool,
    /// Print one JSON document at the end
    #[arg(long, group = "output", help_heading = "Report")]
    json: bool,
}

#[derive(Debug, Args)]
pub struct TraceArgs {
    /// What to train: v1 to v4, stage1 to stage6
    target: Target,
    /// File to write
    #[arg(long, short, value_name = "FILE", default_value = "trace.json")]
    output: PathBuf,
    /// Steps in the trace
    #[arg(long, value_name = "N", default_value_t = 3)]
    profile_steps: usize,
    #[command(flatten)]
    training: TrainingArgs,
}

pub fn run(args: &RunArgs) -> Result<Exit> {
    let mut options = args.training.options(args.target)?;
    // A trace without a profile pass would be empty.
    options.profile_steps = args.profile_steps.max(usize::from(args.trace.is_some()));
    options.trace = args.trace.clone();
    options.count_work = args.flops;
    options.sample = args.sample;
    options.diagnose = args.diagnose;
    let stdout = io::stdout();
    let sink: Box<dyn EventSink> = if args.events {
        Box::new(JsonLines(stdout))
    } else if args.json {
        Box::new(Document::new(stdout))
    } else {
        Box::new(Lines::new(stdout))
    };
    execute(&args.training, &options, sink)
}

pub fn trace(args: &TraceArgs) -> Result<Exit> {
    let mut options = args.training.options(args.target)?;
    options.profile_steps = args.profile_steps.max(1);
    options.trace = Some(args.output.clone());
    options.count_work = true;
    let exit = execute(&args.training, &options, Box::new(Lines::new(io::stdout())))?;
    if exit == Exit::Ok {
        writeln!(
            io::stdout(),
            "\nwrote {}; open it in https://ui.perfetto.dev or chrome://tracing",
            args.output.display()
        )?;
    }
    Ok(exit)
}

/// Trains and reports; errors reach the event stream before they reach the caller.
fn execute(args: &TrainingArgs, options: &Options, sink: Box<dyn EventSink>) -> Result<Exit> {
    let stop = StopSignal::default();
    let tensors = parameter_tensors(options);
    let reporter = Reporter::new(sink, Tally::new(options.config, tensors), stop.clone());
    signals::watch(stop.clone(), reporter.clone())?;
    let result = quietly(|| train_target(args, options, tensors, &reporter, &stop));
    match result {
        Ok(ending) => Ok(conclude(ending, &reporter)),
        Err(error) => {
            let error = device::explain(error);
            reporter.fail(failure(&error));
            Err(error)
        }
    }
}

fn train_target(
    args: &TrainingArgs,
    options: &Options,
    tensors: usize,
    reporter: &Reporter,
    stop: &StopSignal,
) -> Result<Ending> {
    let data = match &args.data {
        Some(path) => Data::text(path, &options.config, options.seed)?,
        None => Data::synthetic(&options.config, options.seed),
    };
    if let Some(path) = &options.trace {
        // Found out now, not after minutes of tuning and training.
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| format!("cannot write the trace {}", path.display()))?;
    }
    block_sizes::check(&args.switches.block_size, options)?;
    if options.target == Target::V4 {
        return train_ultra(args, options, tensors, data, reporter, stop);
    }
    device::configure_runtime(CacheSettings {
        fusion: options.recipe.graph_fusion,
        tuning: Tuning::Full,
    });
    let open = device::open(args.backend, args.device.as_deref())?;
    open.require_dtype(options.operand_dtype)?;
    let facts = DeviceFacts::from(&open);
    let precision = train::matmul_precision(options.operand_dtype, &open).to_string();
    let weights = begin(args, options, &facts, &data, tensors, precision, reporter)?;
    train::train(options, &open, &weights, data, reporter, stop)
}

fn train_ultra(
    args: &TrainingArgs,
    options: &Options,
    tensors: usize,
    data: Data,
    reporter: &Reporter,
    stop: &StopSignal,
) -> Result<Ending> {
    let open = args.ultra_device()?;
    let precision = open.matmul_precision(options);
    let weights = begin(
        args,
        options,
        &open.facts,
        &data,
        tensors,
        precision,
        reporter,
    )?;
    ultra::train(options, &open, &weights, data, reporter, stop)
}

/// Says what will run where, and draws the initial weights.
fn begin(
    args: &TrainingArgs,
    options: &Options,
    facts: &DeviceFacts,
    data: &Data,
    tensors: usize,
    matmul_precision: String,
    reporter: &Reporter,
) -> Result<Weights> {
    if let Some(memory) = facts.memory {
        options.config.validate_memory(memory, &facts.name)?;
    }
    let mut hello = train::hello(options, facts, data, tensors, matmul_precision);
    let note = block_sizes::settle(&args.switches.block_size, options.target, &mut hello)?;
    reporter.emit(Body::Hello(Box::new(hello)));
    if let Some(message) = note {
        reporter.emit(Body::Note(Note { message }));
    }
    reporter.emit(Body::Phase(Phase {
        phase: PhaseName::Setup,
        progress: None,
        eta_s: None,
        message: "drawing the initial weights".into(),
    }));
    Ok(Weights::new(
        &options.config,
        options.seed,
        options.recipe.initialisation,
    ))
}

/// Tensors the recipe stores its parameters in.
fn parameter_tensors(options: &Options) -> usize {
    let per_block = 4 + options.recipe.qkv.matrices(3) + options.recipe.gate_up.matrices(2);
    2 + options.config.layers * per_block
}

fn conclude(ending: Ending, reporter: &Reporter) -> Exit {
    match ending {
        Ending::Complete => {
            reporter.finish(true);
            Exit::Ok
        }
        Ending::NotDeterministic => {
            reporter.finish(true);
            Exit::Failed
        }
        Ending::Stopped(StopReason::Signal(signal)) => {
            reporter.finish(false);
            Exit::Signal(signal)
        }
        // Whoever closed the output has seen enough; a full disk is an error.
        Ending::Stopped(StopReason::OutputClosed(io::ErrorKind::BrokenPipe)) => Exit::Ok,
        Ending::Stopped(StopReason::OutputClosed(kind)) => {
            eprintln!("error: the output cannot be written: {kind}");
            Exit::Environment
        }
        Ending::NotFinite(step) => {
            let failure = Failure {
                code: FailureCode::NotFinite,
                message: format!("the loss is not finite at step {step}"),
                remedy:
                    "Lower --learning-rate; with --dtype f16 take bf16, whose range is that of f32."
                        .into(),
            };
            eprintln!("error: {}\n       {}", failure.message, failure.remedy);
            reporter.fail(failure);
            Exit::Failed
        }
    }
}

/// Runs `work` with panics turned into errors: a driver's panic is a message and an exit status, not a backtrace.
fn quietly<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    static PLACE: Mutex<Option<String>> = Mutex::new(None);
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        if let (Ok(mut place), Some(location)) = (PLACE.lock(), info.location()) {
            // The first panic is the cause; device threads that fail after it only follow.
            place.get_or_insert_with(|| location.to_string());
        }
    }));
    let result = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(previous);
    result.unwrap_or_else(|panic| {
        let place = PLACE
            .lock()
            .ok()
            .and_then(|place| place.clone())
            .unwrap_or_default();
        Err(anyhow!("{}", panics::message(panic.as_ref()))
            .context(format!("the computation panicked ({place})")))
    })
}

/// `error` as the last event of the stream.
fn failure(error: &anyhow::Error) -> Failure {
    let message = format!("{error:#}");
    let lower = message.to_lowercase();
    let (code, remedy) = if lower.contains("out of memory")
        || lower.contains("outofmemory")
        || lower.contains("can't allocate")
    {
        (
            FailureCode::OutOfMemory,
            "Lower --batch-size or --seq-len, or end other programs on this device.".to_string(),
        )
    } else if let Some(failure) = error.downcast_ref::<BackendFailure>() {
        (FailureCode::Device, failure.remedy().to_owned())
    } else {
        match exit::classify(error) {
            Exit::Usage => (FailureCode::Usage, "Correct the flag named above.".into()),
            Exit::Environment => (FailureCode::Environment, exit::remedy(error).unwrap_or_default()),
            _ if lower.contains("panicked") => (
                FailureCode::Device,
                "Run `tinyllama-tutor doctor`; if it finds nothing, report this with the message above.".into(),
            ),
            _ => (FailureCode::Internal, "Report this with the message above.".into()),
        }
    };
    Failure {
        code,
        message,
        remedy,
    }
}
