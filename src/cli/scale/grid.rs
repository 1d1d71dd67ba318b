//! The grid while it is run: at every size all targets, one after the other, and nothing that cannot fit.

use std::collections::HashMap;
use std::ffi::OsString;

use super::AtSize;
use crate::analysis::comparison::total_series;
use crate::analysis::relative::{RelativeTime, USUAL_MARGIN, middle};
use crate::analysis::runner::Failed;
use crate::analysis::scaling::{Cell, Measured, Size, TargetScale, growths};
use crate::analysis::turns::{Turn, run_one};
use crate::analysis::{MeasuredRun, RunFailure, Runner, Variant};
use crate::base::statistics::Series;
use crate::cli::analysis::{Console, Entry, timed};

/// Runs of every target at every size.
pub struct Grid<'a> {
    sizes: Vec<Size>,
    columns: Vec<Column<'a>>,
}

/// A target and what became of it; keys are places in the grid's sizes.
struct Column<'a> {
    entry: &'a Entry,
    common: Vec<OsString>,
    runs: HashMap<usize, Vec<MeasuredRun>>,
    out_of_memory: HashMap<usize, String>,
}

impl<'a> Grid<'a> {
    pub fn new(entries: &'a [Entry], common: Vec<OsString>, sizes: Vec<Size>) -> Self {
        let columns = entries.iter().map(|entry| Column {
            entry,
            common: common.clone(),
            runs: HashMap::new(),
            out_of_memory: HashMap::new(),
        });
        Grid {
            columns: columns.collect(),
            sizes,
        }
    }

    /// # Errors
    /// The first failure that is not for want of memory; what ran until then stays.
    pub fn run(
        &mut self,
        runner: &Runner,
        rounds: usize,
        console: &mut Console,
    ) -> Result<(), RunFailure> {
        let of = self.sizes.len() * self.columns.len() * rounds;
        let mut run = 0;
        for _ in 0..rounds {
            for at in 0..self.sizes.len() {
                for column in &mut self.columns {
                    run += 1;
                    column.run(&self.sizes, at, runner, (run, of), console)?;
                }
            }
        }
        Ok(())
    }

    pub fn scales(&self, confidence: f64) -> Vec<TargetScale> {
        self.columns
            .iter()
            .map(|column| {
                let mut scale = TargetScale {
                    name: column.entry.variant(&[]).name,
                    target: column.entry.target.clone(),
                    cells: column.cells(&self.sizes),
                    growths: vec![],
                };
                let measured: Vec<Measured> = scale.measured().into_iter().cloned().collect();
                scale.growths = growths(&measured, confidence);
                scale
            })
            .collect()
    }

    /// Every other target's time over the first one's, size by size.
    pub fn over_the_first(&self, confidence: f64) -> Vec<AtSize> {
        let Some((first, others)) = self.columns.split_first() else {
            return vec![];
        };
        let mut all = Vec::new();
        for (at, size) in self.sizes.iter().enumerate() {
            let Some(base) = first.runs.get(&at).map(|runs| total_series(runs)) else {
                continue;
            };
            for column in others {
                let own = column.runs.get(&at).map(|runs| total_series(runs));
                let relative_time = own
                    .and_then(|own| RelativeTime::in_rounds(&own, &base, confidence, USUAL_MARGIN));
                all.extend(relative_time.map(|relative_time| AtSize {
                    size: *size,
                    name: column.entry.variant(&[]).name,
                    relative_time,
                }));
            }
        }
        all
    }
}

impl Column<'_> {
    fn run(
        &mut self,
        sizes: &[Size],
        at: usize,
        runner: &Runner,
        (run, of): (usize, usize),
        console: &mut Console,
    ) -> Result<(), RunFailure> {
        if self.cannot_fit(sizes, sizes[at]) {
            return Ok(());
        }
        let variant = self.variant(sizes[at]);
        let turn = Turn {
            run,
            of,
            name: &variant.name,
        };
        match run_one(runner, &variant, &[], turn, console) {
            Ok(run) => self.runs.entry(at).or_default().push(run),
            Err(RunFailure::Failed(failed)) if failed.is_out_of_memory() => {
                console.say(&format!(
                    "{}: out of memory, larger ones are left out",
                    variant.name
                ));
                self.runs.remove(&at);
                self.out_of_memory.insert(at, first_line(&failed));
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }

    /// Whether something that is no larger ran out of memory.
    fn cannot_fit(&self, sizes: &[Size], size: Size) -> bool {
        self.out_of_memory
            .keys()
            .any(|at| sizes[*at].fits_inside(&size))
    }

    fn variant(&self, size: Size) -> Variant {
        let sized = [
            "--flops".into(),
            format!("--seq-len={}", size.sequence_length).into(),
            format!("--batch-size={}", size.batch_size).into(),
        ];
        let own = self.entry.variant(&[]);
        Variant {
            name: format!(
                "{}, sequence {}, batch {}",
                own.name, size.sequence_length, size.batch_size
            ),
            target: own.target,
            flags: [&timed()[..], &self.common, &own.flags, &sized].concat(),
        }
    }

    /// What became of each, in the order of size; cells that an interruption left out are absent.
    fn cells(&self, sizes: &[Size]) -> Vec<Cell> {
        let cell = |(at, size): (usize, &Size)| {
            if let Some(message) = self.out_of_memory.get(&at) {
                return Some(Cell::OutOfMemory {
                    size: *size,
                    message: message.clone(),
                });
            }
            if self.cannot_fit(sizes, *size) {
                return Some(Cell::NotTried { size: *size });
            }
            measured(*size, self.runs.get(&at)?).map(Cell::Measured)
        };
        sizes.iter().enumerate().filter_map(cell).collect()
    }
}

fn first_line(failed: &Failed) -> String {
    match &failed.failure {
        Some(failure) => failure.message.lines().next().unwrap_or_default().into(),
        None => "ended by the system, most likely for its memory".into(),
    }
}

fn measured(size: Size, runs: &[MeasuredRun]) -> Option<Measured> {
    let last = runs.last()?;
    let series = total_series(runs);
    let step_ms = middle(&series)?;
    Some(Measured {
        size,
        step_ms,
        step_ms_of_rounds: series.iter().map(Series::median).collect(),
        samples_per_s: size.batch_size as f64 / (step_ms / 1e3),
        tokens_per_s: (size.batch_size * size.sequence_length) as f64 / (step_ms / 1e3),
        peak_bytes: last
            .summary
            .peak_bytes_reserved
            .or(last.summary.peak_bytes_in_use),
        launches: last.summary.launches_per_step,
        flops: last.parts.as_ref().map(|parts| parts.flops_per_step),
        runs: runs
            .iter()
            .map(|run| run.path.display().to_string())
            .collect(),
    })
}
