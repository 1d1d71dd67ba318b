//! `benchmark replays`: checks that a graph stays unchanged, and that shapes leak no memory.

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::cli::analysis::{Analysis, AnalysisPage, AnalysisResult, positive};
use tinyllama_base::units::{bytes_or_not, human_bytes};
use tinyllama_contract::flags::TrainingArgs;
use tinyllama_engine::model::Weights;
use tinyllama_engine::targets::v4::{self, Replays, ReshapeResult};
use tinyllama_engine::train::{Data, EngineDevice, MatrixProducts};

/// Change in free bytes that other users of the device may cause. One captured step takes more.
const TOLERATED: u64 = 8 << 20;

#[derive(Debug, Args)]
pub struct ReplaysArgs {
    /// Number of steps, each replayed once and launched once
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = positive)]
    steps: usize,
    /// Number of shapes for which the step is captured, one after the other
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = positive)]
    shapes: usize,
    #[command(flatten)]
    training: TrainingArgs,
}

#[derive(Serialize)]
struct ReplaysDocument {
    device: String,
    products: MatrixProducts,
    passed: bool,
    replays: Replays,
    shapes: ReshapeResult,
}

impl Analysis for ReplaysArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let mut options = self.training.options(v4::TARGET)?;
        // Both must use the same algorithms of the matrix library.
        options.deterministic = true;
        let device = v4::open(&options)?;
        let driver = device.driver("replaying a graph")?;
        let weights = Weights::small(&options.config, options.seed);
        let trainer = |capture: bool| {
            let mut options = options.clone();
            options.capture = capture;
            device.trainer(&options, &weights)
        };
        let batch = Data::synthetic(&options.config, options.seed).next_batch();
        let mut replayed = trainer(true)?;
        let (mut other, tokens) = (trainer(false)?, (&batch.tokens[..], &batch.targets[..]));
        let mut progress = progress_printer("step", self.steps, 2000);
        let replays = v4::replays(&mut replayed, &mut other, tokens, self.steps, &mut progress)?;
        let free = || driver.device_memory().ok().map(|memory| memory.free);
        let mut progress = progress_printer("shape", self.shapes, 10);
        let shapes = v4::reshapes(&mut replayed, self.shapes, true, &free, &mut progress)?;
        let document = ReplaysDocument {
            device: device.facts.device.clone(),
            products: device.matrix_products(&options),
            passed: replays.identical && shapes.healthy && shapes.leaked_nothing(TOLERATED),
            replays,
            shapes,
        };
        Ok(AnalysisResult::new(&document, page(&document))?.with_passed(document.passed))
    }
}

/// Reports progress from time to time.
fn progress_printer(what: &'static str, of: usize, every: usize) -> impl FnMut(usize) {
    let mut next = every;
    move |done| {
        if done >= next {
            eprintln!("  {what} {done} of {of}");
            next = done + every;
        }
    }
}

fn page(found: &ReplaysDocument) -> AnalysisPage {
    let mut page = AnalysisPage::default();
    let ReplaysDocument {
        replays, shapes, ..
    } = found;
    page.line(format_args!("V4 on {}, {}", found.device, found.products));
    let same = match (replays.identical, replays.first_difference) {
        (true, _) => "the same bits in every loss and parameter".into(),
        (false, Some(step)) => format!("different since step {step}"),
        (false, None) => "the same losses, but other parameters".into(),
    };
    page.line(format_args!(
        "  {} replays of a graph compared with as many steps launch by launch, {} parameters: {same}; last loss {}",
        replays.steps, replays.parameters, replays.last_loss
    ));
    let trouble = match shapes.healthy {
        true => "",
        false => "; a step failed or was not captured",
    };
    page.line(format_args!(
        "  {} shapes captured one after the other: held {} before and {} after; free on the device {} and {}{trouble}",
        shapes.shapes,
        human_bytes(shapes.held_before),
        human_bytes(shapes.held_after),
        bytes_or_not(shapes.free_before),
        bytes_or_not(shapes.free_after),
    ));
    // The bytes that this program holds are exact. Free bytes also depend on other users.
    let held_nothing = shapes.held_before == shapes.held_after;
    page.line(match found.passed {
        true => "  passed",
        false if replays.identical && shapes.healthy && held_nothing => {
            "  FAILED: less memory is free than before; if other programs use this device, run this alone"
        }
        false => "  FAILED",
    });
    page
}
