//! A grid of sizes. It runs all targets at every size, one after the other, and skips runs that cannot fit into
//! memory.

use clap::Args;

use super::AnalysisRunner;
use tinyllama_analysis::runner::{FailedRun, RunVariant};
use tinyllama_analysis::scaling::{Size, by_size};
use tinyllama_analysis::{MeasuredRun, RunFailure};
use tinyllama_contract::bounds;
use tinyllama_contract::flags::{RunSpec, UsageError};

/// Values of the two sizes that a grid varies.
#[derive(Debug, Args)]
pub struct GridSizes {
    /// Tokens per sample; separate several values with commas
    #[arg(long = "seq-len", value_name = "N,…", value_delimiter = ',', value_parser = bounds::SEQUENCE, default_values_t = [64, 128, 256, 512])]
    lengths: Vec<usize>,
    /// Samples per step; separate several values with commas
    #[arg(long = "batch-size", value_name = "N,…", value_delimiter = ',', value_parser = bounds::BATCH, default_values_t = [8])]
    batches: Vec<usize>,
}

impl GridSizes {
    /// Every combination, smallest memory first.
    fn sizes_of_grid(&self) -> Vec<Size> {
        let of_length = |sequence_length: &usize| {
            let sequence_length = *sequence_length;
            self.batches.iter().map(move |batch_size| Size {
                sequence_length,
                batch_size: *batch_size,
            })
        };
        by_size(self.lengths.iter().flat_map(of_length).collect())
    }
}

/// Runs of every target at every size.
pub struct SizeGrid {
    pub sizes: Vec<Size>,
    pub columns: Vec<GridColumn>,
}

/// A target's results. All lists are by size.
pub struct GridColumn {
    pub spec: RunSpec,
    variants: Vec<RunVariant>,
    pub runs: Vec<Vec<MeasuredRun>>,
    /// Reason why a size has no runs.
    pub out_of_memory: Vec<Option<String>>,
}

impl SizeGrid {
    /// # Errors
    /// If `run` does not accept a target's flags together with the `common` ones.
    pub fn new(
        specs: &[RunSpec],
        common: &[String],
        sizes: &GridSizes,
    ) -> Result<Self, UsageError> {
        let sizes = sizes.sizes_of_grid();
        let columns = specs.iter().map(|spec| {
            let sized = |size: &Size| {
                let flags = [
                    format!("--seq-len={}", size.sequence_length),
                    format!("--batch-size={}", size.batch_size),
                ];
                RunVariant::new(format!("{spec}, {size}"), spec, common, &flags)
            };
            Ok(GridColumn {
                spec: spec.clone(),
                variants: sizes.iter().map(sized).collect::<Result<_, _>>()?,
                runs: vec![vec![]; sizes.len()],
                out_of_memory: vec![None; sizes.len()],
            })
        });
        Ok(SizeGrid {
            columns: columns.collect::<Result<_, _>>()?,
            sizes,
        })
    }

    /// # Errors
    /// The first failure other than out of memory. Earlier runs remain.
    pub fn run(&mut self, runner: &mut AnalysisRunner, rounds: usize) -> Result<(), RunFailure> {
        let of = self.sizes.len() * self.columns.len() * rounds;
        let mut run = 0;
        let of_size = |at: usize| {
            let variants = self.columns.iter().map(move |column| &column.variants[at]);
            variants.cloned()
        };
        let round: Vec<RunVariant> = (0..self.sizes.len()).flat_map(of_size).collect();
        runner.submit_ahead(&vec![round; rounds].concat())?;
        for _ in 0..rounds {
            for at in 0..self.sizes.len() {
                for column in &mut self.columns {
                    run += 1;
                    if column.may_fit(&self.sizes, at) {
                        column.run(at, runner, (run, of))?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl GridColumn {
    fn run(
        &mut self,
        at: usize,
        runner: &mut AnalysisRunner,
        turn: (usize, usize),
    ) -> Result<(), RunFailure> {
        match runner.run(&self.variants[at], turn) {
            Ok(run) => self.runs[at].push(run),
            Err(RunFailure::FailedRun(failed)) if failed.is_out_of_memory() => {
                let name = &self.variants[at].name;
                runner.print_line(&format!("{name}: out of memory, larger sizes are left out"));
                self.runs[at].clear();
                self.out_of_memory[at] = Some(first_line(&failed));
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }

    /// True if no smaller or equal size ran out of memory.
    pub fn may_fit(&self, sizes: &[Size], at: usize) -> bool {
        let mut tried = sizes.iter().zip(&self.out_of_memory);
        !tried.any(|(size, full)| full.is_some() && size.fits_inside(&sizes[at]))
    }
}

fn first_line(failed: &FailedRun) -> String {
    match &failed.ended.run.reported.error {
        Some(failure) => failure.message.lines().next().unwrap_or_default().into(),
        None => "ended by the system, most likely because it used too much memory".into(),
    }
}
