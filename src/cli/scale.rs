//! `scale`: a grid of sequence lengths and batch sizes, and how time and memory grow over it.

use std::collections::HashMap;
use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::{
    Console, Entry, RunFlags, bar, bytes_or_not, finish, number_or_not, print_json, print_table,
    timed,
};
use super::training_args::UsageError;
use crate::analysis::comparison::total_series;
use crate::analysis::relative::middle;
use crate::analysis::runner::Failed;
use crate::analysis::scaling::{Cell, Growth, Measured, Size, by_size, growths};
use crate::analysis::statistics::Series;
use crate::analysis::turns::{Turn, run_one};
use crate::analysis::{MeasuredRun, RunFailure, Runner, Stop, Variant};
use crate::profiler::show::text::{Align, TextTable};

#[derive(Debug, Args)]
pub struct ScaleArgs {
    /// What to run, with flags of its own after a colon
    target: Entry,
    /// Tokens per sample, several with commas between
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [64, 128, 256, 512])]
    seq_len: Vec<usize>,
    /// Samples per step, several with commas between
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [8])]
    batch_size: Vec<usize>,
    /// Rounds over the whole grid
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: usize,
    /// Of intervals, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0)]
    confidence: f64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: RunFlags,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    target: &'a str,
    complete: bool,
    cells: &'a [Cell],
    growths: &'a [Growth],
}

pub fn run(args: &ScaleArgs) -> Result<Exit> {
    finish(scale(args))
}

fn scale(args: &ScaleArgs) -> Result<Exit> {
    let measure = super::analysis::MeasureFlags {
        rounds: args.rounds,
        confidence: args.confidence,
    };
    let (rounds, confidence) = measure.checked()?;
    let sizes = sizes(args)?;
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let mut grid = Grid::new(args, sizes);
    let ended = grid.run(&runner, rounds, &mut console);
    drop(console);
    let cells = grid.cells();
    let measured: Vec<Measured> = cells
        .iter()
        .filter_map(|cell| match cell {
            Cell::Measured(measured) => Some(measured.clone()),
            _ => None,
        })
        .collect();
    let growths = growths(&measured, confidence);
    if args.json {
        print_json(&Document {
            target: &args.target.target,
            complete: ended.is_ok(),
            cells: &cells,
            growths: &growths,
        })?;
    } else if !cells.is_empty() {
        print(&mut io::stdout().lock(), args, &cells, &growths)?;
    }
    ended?;
    Ok(Exit::Ok)
}

fn sizes(args: &ScaleArgs) -> Result<Vec<Size>, UsageError> {
    let all = args.seq_len.iter().flat_map(|sequence_length| {
        args.batch_size.iter().map(|batch_size| Size {
            sequence_length: *sequence_length,
            batch_size: *batch_size,
        })
    });
    let sizes = by_size(all.collect());
    if sizes
        .iter()
        .any(|size| size.sequence_length == 0 || size.batch_size == 0)
    {
        return Err(UsageError(
            "--seq-len and --batch-size: every number is at least 1".into(),
        ));
    }
    Ok(sizes)
}

/// The grid while it is run.
struct Grid<'a> {
    args: &'a ScaleArgs,
    sizes: Vec<Size>,
    /// By place in `sizes`.
    runs: HashMap<usize, Vec<MeasuredRun>>,
    out_of_memory: HashMap<usize, String>,
}

impl<'a> Grid<'a> {
    fn new(args: &'a ScaleArgs, sizes: Vec<Size>) -> Self {
        Grid {
            args,
            sizes,
            runs: HashMap::new(),
            out_of_memory: HashMap::new(),
        }
    }

    fn run(
        &mut self,
        runner: &Runner,
        rounds: usize,
        console: &mut Console,
    ) -> Result<(), RunFailure> {
        let of = self.sizes.len() * rounds;
        for round in 0..rounds {
            for at in 0..self.sizes.len() {
                let size = self.sizes[at];
                if self.cannot_fit(size) {
                    continue;
                }
                let variant = self.variant(size);
                let turn = Turn {
                    run: round * self.sizes.len() + at + 1,
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
            }
        }
        Ok(())
    }

    /// Whether something that is no larger ran out of memory.
    fn cannot_fit(&self, size: Size) -> bool {
        self.out_of_memory
            .keys()
            .any(|at| self.sizes[*at].fits_inside(&size))
    }

    fn variant(&self, size: Size) -> Variant {
        let mut flags = [
            timed(),
            self.args.flags.words(),
            self.args.target.flags.clone(),
        ]
        .concat();
        flags.extend([
            "--flops".into(),
            format!("--seq-len={}", size.sequence_length).into(),
            format!("--batch-size={}", size.batch_size).into(),
        ]);
        Variant {
            name: format!(
                "{}, sequence {}, batch {}",
                self.args.target.target, size.sequence_length, size.batch_size
            ),
            target: self.args.target.target.clone(),
            flags,
        }
    }

    /// What became of each, in the order of size; cells that an interruption left out are absent.
    fn cells(&self) -> Vec<Cell> {
        let cell = |(at, size): (usize, &Size)| {
            if let Some(message) = self.out_of_memory.get(&at) {
                return Some(Cell::OutOfMemory {
                    size: *size,
                    message: message.clone(),
                });
            }
            if self.cannot_fit(*size) {
                return Some(Cell::NotTried { size: *size });
            }
            measured(*size, self.runs.get(&at)?).map(Cell::Measured)
        };
        self.sizes.iter().enumerate().filter_map(cell).collect()
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

fn print(
    out: &mut impl Write,
    args: &ScaleArgs,
    cells: &[Cell],
    growths: &[Growth],
) -> io::Result<()> {
    print_table(out, &grid_table(args, cells))?;
    if growths.is_empty() {
        writeln!(out, "\nA growth needs two sizes that ran.")
    } else {
        print_table(out, &growth_table(growths))
    }
}

fn grid_table(args: &ScaleArgs, cells: &[Cell]) -> TextTable {
    let mut table = TextTable::new(
        format!("{} over its sizes", args.target.text()),
        &[
            ("sequence", Align::Right),
            ("batch", Align::Right),
            ("step ms", Align::Right),
            ("tokens/s", Align::Right),
            ("memory", Align::Right),
            ("launches", Align::Right),
            ("", Align::Left),
        ],
    );
    let longest = cells
        .iter()
        .filter_map(|cell| match cell {
            Cell::Measured(cell) => Some(cell.step_ms),
            _ => None,
        })
        .fold(f64::MIN_POSITIVE, f64::max);
    for cell in cells {
        let sizes = |size: &Size| {
            vec![
                size.sequence_length.to_string(),
                size.batch_size.to_string(),
            ]
        };
        table.rows.push(match cell {
            Cell::Measured(cell) => {
                let mut row = sizes(&cell.size);
                row.extend([
                    format!("{:.3}", cell.step_ms),
                    format!("{:.0}", cell.tokens_per_s),
                    bytes_or_not(cell.peak_bytes),
                    number_or_not(cell.launches, 0),
                    bar(cell.step_ms / longest, 24, '#'),
                ]);
                row
            }
            Cell::OutOfMemory { size, .. } => {
                let mut row = sizes(size);
                row.extend(["", "", "", "", "out of memory"].map(String::from));
                row
            }
            Cell::NotTried { size } => {
                let mut row = sizes(size);
                row.extend(
                    ["", "", "", "", "not tried: a smaller one did not fit"].map(String::from),
                );
                row
            }
        });
    }
    table
}

fn growth_table(growths: &[Growth]) -> TextTable {
    let mut table = TextTable::new(
        "Growth",
        &[
            ("", Align::Left),
            ("with", Align::Left),
            ("exponent", Align::Right),
            ("interval", Align::Right),
            ("between neighbours", Align::Left),
        ],
    );
    for growth in growths {
        let locals: Vec<String> = growth
            .between_neighbours
            .iter()
            .map(|local| format!("{:.2}", local.exponent))
            .collect();
        table.rows.push(vec![
            growth.of.into(),
            growth.axis.name().into(),
            format!("{:.2}", growth.exponent),
            growth
                .low
                .zip(growth.high)
                .map_or("needs more sizes".into(), |(low, high)| {
                    format!("{low:.2} to {high:.2}")
                }),
            locals.join(" "),
        ]);
    }
    table.notes.push(
        "1 is linear, 2 quadratic, 0 not at all. Where the exponents between neighbours rise, the smaller sizes are bound by something \
         that does not grow, such as launches; the fit's interval is wide then, for no single power law holds"
            .into(),
    );
    table
}
