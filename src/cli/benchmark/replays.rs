//! `benchmark replays`: whether a graph stays what was captured, and whether shapes leave something behind.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::base::units::human_bytes;
use crate::cli::Exit;
use crate::cli::analysis::print_json;
use crate::cli::training_args::{TrainingArgs, UsageError};
use crate::model::ultra::{self as model, Replays, Reshapes};
use crate::model::{Target, Weights};
use crate::train::{Data, Options};

/// What may change on a device that others use as well: less than one captured step takes.
const TOLERATED: u64 = 8 << 20;

#[derive(Debug, Args)]
pub struct ReplaysArgs {
    /// Steps, each replayed once and launched once
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    steps: usize,
    /// Shapes that the step is captured for again, one after the other
    #[arg(long, value_name = "N", default_value_t = 50)]
    shapes: usize,
    #[command(flatten)]
    training: TrainingArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    device: String,
    products: String,
    passed: bool,
    replays: Replays,
    shapes: Reshapes,
}

pub fn run(args: &ReplaysArgs) -> Result<Exit> {
    if args.steps == 0 || args.shapes == 0 {
        return Err(UsageError("--steps and --shapes: each is at least 1".into()).into());
    }
    let mut options = args.training.options(Target::V4)?;
    // Both are to take the same algorithms of the matrix library.
    options.deterministic = true;
    let device = args.training.ultra_device()?;
    let driver = device.driver("replaying a graph")?;
    let weights = Weights::small(&options.config, options.seed);
    let trainer = |capture: bool| {
        let mut options: Options = options.clone();
        options.ultra.capture = capture;
        device.trainer(&options, &weights)
    };
    let batch = Data::synthetic(&options.config, options.seed).next_batch();
    let mut replayed = trainer(true)?;
    let mut progress = announce("step", args.steps, 2000);
    let replays = model::replays(
        &mut replayed,
        &mut trainer(false)?,
        (&batch.tokens, &batch.targets),
        args.steps,
        &mut progress,
    )?;
    let free = || driver.device_memory().ok().map(|memory| memory.free);
    let mut progress = announce("shape", args.shapes, 10);
    let shapes = model::reshapes(&mut replayed, args.shapes, true, &free, &mut progress)?;
    let document = Document {
        device: device.facts.name.clone(),
        products: device.matmul_precision(&options),
        passed: replays.identical && shapes.healthy && shapes.kept_nothing(TOLERATED),
        replays,
        shapes,
    };
    if args.json {
        print_json(&document)?;
    } else {
        print(&mut io::stdout().lock(), &document)?;
    }
    Ok(match document.passed {
        true => Exit::Ok,
        false => Exit::Failed,
    })
}

/// Says now and then how far it is.
fn announce(what: &'static str, of: usize, every: usize) -> impl FnMut(usize) {
    let mut next = every;
    move |done| {
        if done >= next {
            eprintln!("  {what} {done} of {of}");
            next = done + every;
        }
    }
}

fn print(out: &mut impl Write, document: &Document) -> io::Result<()> {
    let Document {
        replays, shapes, ..
    } = document;
    writeln!(out, "V4 on {}, {}", document.device, document.products)?;
    let same = match (replays.identical, replays.first_difference) {
        (true, _) => "the same bits in every loss and parameter".into(),
        (false, Some(step)) => format!("different since step {step}"),
        (false, None) => "the same losses, but other parameters".into(),
    };
    writeln!(
        out,
        "  {} replays of a graph beside as many steps launch by launch, {} parameters: {same}; last loss {}",
        replays.steps, replays.parameters, replays.last_loss
    )?;
    writeln!(
        out,
        "  {} shapes captured one after the other: held {} before and {} after; free on the device {} and {}{}",
        shapes.shapes,
        human_bytes(shapes.held_before),
        human_bytes(shapes.held_after),
        shapes
            .free_before
            .map_or("not reported".into(), human_bytes),
        shapes.free_after.map_or("not reported".into(), human_bytes),
        if shapes.healthy {
            ""
        } else {
            "; a step failed or was not captured"
        },
    )?;
    // What this program holds is exact; what is free is everybody's.
    let others = replays.identical
        && shapes.healthy
        && !document.passed
        && shapes.held_before == shapes.held_after;
    writeln!(
        out,
        "  {}{}",
        if document.passed { "passed" } else { "FAILED" },
        if others {
            ": less is free than before; if other programs use this device, run this alone"
        } else {
            ""
        }
    )
}
