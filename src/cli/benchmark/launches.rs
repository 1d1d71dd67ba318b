//! `benchmark launches`: V4's schedule as a table.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::analysis::calibration::{Calibration, Level};
use crate::base::table::{Align, TextTable};
use crate::cli::Exit;
use crate::cli::analysis::{print_json, print_table};
use crate::cli::training_args::TrainingArgs;
use crate::model::ultra::{Executor, LaunchTimes, Phase, Span, Spread};
use crate::model::{Target, Weights};
use crate::run::folder;
use crate::train::Data;

#[derive(Debug, Args)]
pub struct LaunchesArgs {
    #[command(flatten)]
    training: TrainingArgs,
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Launches of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    phase: &'static str,
    launch: String,
    count: usize,
    /// Of one launch, close behind others of its kind.
    us: f64,
    us_together: f64,
    mflop: f64,
    megabytes: f64,
    /// What this device was seen to need for so many operations or bytes, the larger of the two; null where it was not calibrated.
    floor_us: Option<f64>,
}

#[derive(Serialize)]
struct Document<'a> {
    device: &'a str,
    products: String,
    /// Rates the floors come from: FLOP/s and bytes/s.
    rates: Option<(f64, f64)>,
    rows: &'a [Row],
}

pub fn run(args: &LaunchesArgs) -> Result<Exit> {
    let options = args.training.options(Target::V4)?;
    let device = args.training.ultra_device()?;
    device.driver("timing V4's launches")?;
    let precision = device.precision(&options)?;
    let facts = &device.facts;
    let kept = Calibration::load(
        &folder::state_folder()?,
        &facts.backend.to_string(),
        &facts.name,
    )?;
    let rates = kept.and_then(|kept| {
        let flops = kept.flops_per_s(&precision.to_string(), None)?;
        Some((flops, kept.bytes_per_s(Level::Cold)?))
    });
    eprintln!("compiling kernels, timing the matrix library's algorithms and each launch");
    let mut executor = device.device_executor(&options, Spread::SERIAL)?;
    let weights = Weights::small(&options.config, options.seed);
    let values = executor.schedule().layout.place(&weights);
    executor.set_weights(&values)?;
    let batch = Data::synthetic(&options.config, options.seed).next_batch();
    executor.place(&batch.tokens, &batch.targets)?;
    executor.run(Span::Gradients)?;
    executor.wait()?;
    let times = executor.launch_times()?;
    let rows: Vec<Row> = times.iter().map(|times| row(times, rates)).collect();
    let document = Document {
        device: &facts.name,
        products: device.matmul_precision(&options),
        rates,
        rows: &rows,
    };
    let mut out = io::stdout().lock();
    if args.json {
        print_json(&document)?;
    } else if args.markdown {
        markdown(&mut out, &rows)?;
    } else {
        print_table(&mut out, &table(&document))?;
    }
    Ok(Exit::Ok)
}

fn row(times: &LaunchTimes, rates: Option<(f64, f64)>) -> Row {
    let cost = times.cost;
    let floor = |(flops, bytes): (f64, f64)| (cost.flops / flops).max(cost.bytes / bytes) * 1e6;
    Row {
        phase: match times.phase {
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Optimizer => "optimizer",
        },
        launch: times.label.clone(),
        count: times.count,
        us: times.microseconds,
        us_together: times.microseconds * times.count as f64,
        mflop: cost.flops / 1e6,
        megabytes: cost.bytes / 1e6,
        floor_us: rates.map(floor),
    }
}

impl Row {
    /// Of the time, what the floor would take.
    fn share(&self) -> String {
        self.floor_us.map_or("not calibrated".into(), |floor| {
            format!("{:.0} %", 100.0 * floor / self.us)
        })
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.launch.clone(),
            self.phase.into(),
            self.count.to_string(),
            format!("{:.2}", self.us),
            format!("{:.1}", self.us_together),
            format!("{:.1}", self.mflop),
            format!("{:.2}", self.megabytes),
            self.floor_us
                .map_or_else(String::new, |floor| format!("{floor:.2}")),
            self.share(),
        ]
    }
}

const COLUMNS: [(&str, Align); 9] = [
    ("launch", Align::Left),
    ("phase", Align::Left),
    ("count", Align::Right),
    ("us each", Align::Right),
    ("us", Align::Right),
    ("MFLOP", Align::Right),
    ("MB", Align::Right),
    ("floor us", Align::Right),
    ("of floor", Align::Right),
];

fn table(document: &Document<'_>) -> TextTable {
    let mut table = TextTable::new(
        format!(
            "V4's launches on {}, {}",
            document.device, document.products
        ),
        &COLUMNS,
    );
    table.rows = document.rows.iter().map(Row::cells).collect();
    let sum: f64 = document.rows.iter().map(|row| row.us_together).sum();
    table.notes.push(format!(
        "sum {sum:.1} us; each kind timed by itself, one launch close behind the other in a graph, operands in the cache where \
         they fit: products and norms may be above the floor of memory"
    ));
    table.notes.push(match document.rates {
        Some((flops, bytes)) => format!(
            "floor: operations at {:.0} TFLOP/s or bytes at {:.2} TB/s, as `calibrate` measured them here",
            flops / 1e12,
            bytes / 1e12
        ),
        None => "no floor: run `tinyllama-tutor calibrate` on this device first".into(),
    });
    table
}

fn markdown(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    writeln!(out, "| {} |", names.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(COLUMNS.len()))?;
    for row in rows {
        let mut cells = row.cells();
        if let Some(name) = cells.first_mut() {
            *name = format!("`{name}`");
        }
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ultra::Cost;

    #[test]
    fn the_floor_is_the_larger_of_arithmetic_and_memory() {
        let times = |flops, bytes| LaunchTimes {
            phase: Phase::Forward,
            label: "gemm".into(),
            count: 8,
            microseconds: 10.0,
            cost: Cost { flops, bytes },
        };
        let rates = Some((1e12, 1e12));
        assert_eq!(row(&times(4e6, 1e6), rates).share(), "40 %");
        let by_memory = row(&times(4e6, 8e6), rates);
        assert_eq!(
            (by_memory.share().as_str(), by_memory.us_together),
            ("80 %", 80.0)
        );
        assert_eq!(row(&times(4e6, 8e6), None).share(), "not calibrated");
    }
}
