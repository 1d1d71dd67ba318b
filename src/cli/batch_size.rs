//! `batch-size`: finds the batch size with the best throughput, or the largest one that fits this device's memory,
//! with real runs.

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::analysis::{Analysis, AnalysisPage, AnalysisResult, AnalysisRunner, Flags, TIMED};
use tinyllama_analysis::batch_size::{AS_GOOD, BatchSizeSearch, Bounds, Goal, SizeTrial, search};
use tinyllama_analysis::comparison::{peak_bytes, step_ms};
use tinyllama_analysis::{MeasuredRun, RunFailure, RunVariant};
use tinyllama_base::table::TableColumns;
use tinyllama_base::units::{Share, human_bytes, number, whole_percent};
use tinyllama_contract::bounds;
use tinyllama_contract::flags::{RunSpec, UsageError};

/// Default steps of a trial: enough for a median, and few enough for a dozen trials.
const STEPS: &str = "--num-steps=10";

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor batch-size v3 --config small
      the fastest batch that fits in 80 % of the memory
  tinyllama-tutor batch-size v3 --exact --memory 0.95
      the limit, to the last sample")]
pub struct BatchSizeArgs {
    /// Target to run, optionally with flags after a colon
    target: RunSpec,
    /// Share of the device's memory that a run may use, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.8, value_parser = bounds::SHARE)]
    memory: f64,
    /// Property to maximise
    #[arg(long, value_enum, default_value = "throughput")]
    optimize: Goal,
    /// Smallest batch size to try
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = bounds::BATCH)]
    from: usize,
    /// Largest batch size to try
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = bounds::BATCH)]
    to: usize,
    /// Find the limit to the exact sample instead of to a sixteenth
    #[arg(long)]
    exact: bool,
    #[command(flatten)]
    flags: Flags,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct BatchSizeDocument<'a> {
    target: &'a str,
    complete: bool,
    memory_share: f64,
    #[serde(flatten)]
    search: &'a BatchSizeSearch,
}

impl Analysis for BatchSizeArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let (from, to) = (self.from, self.to);
        if to < from {
            return Err(UsageError(format!(
                "--from {from} --to {to}: there is no size between them"
            ))
            .into());
        }
        let bounds = Bounds {
            from,
            to,
            exact: self.exact,
        };
        let common = self.flags.merged_with(&[&TIMED[..], &[STEPS]].concat());
        let target = self.target.target.name;
        let variant = |batch_size: usize| {
            let name = format!("{target} with batch {batch_size}");
            let sized = [format!("--batch-size={batch_size}")];
            RunVariant::new(name, &self.target, &common, &sized)
        };
        variant(from)?;
        let mut runner = AnalysisRunner::open(&self.flags)?;
        let mut trials = 0;
        let found = search(self.optimize, bounds, |batch_size| {
            trials += 1;
            let variant = variant(batch_size).map_err(|error| RunFailure::Other(error.into()))?;
            match runner.run(&variant, (trials, 0)) {
                Ok(run) => Ok(judged(batch_size, &run, self.memory)),
                Err(RunFailure::FailedRun(failed)) if failed.is_out_of_memory() => Ok(SizeTrial {
                    batch_size,
                    note: "out of memory".into(),
                    ..SizeTrial::default()
                }),
                Err(other) => Err(other),
            }
        });
        let (search, ended) = match found {
            Ok(search) => (search, Ok(())),
            Err((search, failure)) => (search, Err(failure)),
        };
        let document = BatchSizeDocument {
            target,
            complete: ended.is_ok(),
            memory_share: self.memory,
            search: &search,
        };
        let passed = search.best.is_some();
        Ok(AnalysisResult::new(&document, self.page(&search))?
            .with_passed(passed)
            .with_run_result(ended))
    }
}

/// Judges whether the run stayed within its share of the device's memory.
fn judged(batch_size: usize, run: &MeasuredRun, share: f64) -> SizeTrial {
    let (bytes, source) = match peak_bytes(run) {
        Some(bytes) => (bytes, "memory as the backend reports it"),
        None => (
            run.hello.config.estimated_bytes(),
            "memory estimated from shapes: the backend reports none",
        ),
    };
    let memory = run.hello.device_memory;
    let allowed = memory.map(|memory| (memory as f64 * share) as u64);
    let fits = allowed.is_none_or(|allowed| bytes <= allowed);
    let step_ms = step_ms(std::slice::from_ref(run));
    SizeTrial {
        batch_size,
        fits,
        bytes: Some(bytes),
        samples_per_s: step_ms.map(|ms| batch_size as f64 / (ms / 1e3)),
        step_ms,
        note: match allowed {
            Some(allowed) if !fits => format!("more than the {} allowed", human_bytes(allowed)),
            Some(_) => source.into(),
            None => format!("{source}; the device does not say how much it has"),
        },
    }
}

impl BatchSizeArgs {
    fn page(&self, search: &BatchSizeSearch) -> AnalysisPage {
        let mut page = AnalysisPage::default();
        if search.trials.is_empty() {
            return page;
        }
        let title = format!("Batch sizes of {}", self.target.command_name());
        page.table(
            TableColumns::titled(title, &search.trials)
                .right("batch", |row| row.batch_size.to_string())
                .right("step ms", |row| number(row.step_ms, 3))
                .right("samples/s", |row| number(row.samples_per_s, 1))
                .right("memory", |row| row.bytes.map(human_bytes))
                .left("", |row| match search.best == Some(row.batch_size) {
                    true => format!("<- best; {}", row.note),
                    false => row.note.clone(),
                }),
        );
        let beyond = match search.at_upper_bound {
            true => "; the search ended at --to, and a larger one fits too",
            false => "",
        };
        page.line(match (search.best, search.goal) {
            (None, _) => format!(
                "\nNot even a batch of {} fits: lower --seq-len, --hidden or --layers.",
                self.from
            ),
            (Some(best), Goal::Memory) => format!(
                "\n{best} is the largest batch that stays within {} of the memory{beyond}.",
                whole_percent(Share(self.memory))
            ),
            (Some(best), Goal::Throughput) => format!(
                "\n{best} is the smallest batch within {} of the best throughput that was seen{beyond}.",
                whole_percent(Share(AS_GOOD))
            ),
        });
        page
    }
}
