//! `benchmark launches`: V4's schedule as a table.

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::cli::analysis::{Analysis, AnalysisPage, AnalysisResult};
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::number;
use tinyllama_contract::flags::TrainingArgs;
use tinyllama_course::analysis::calibration::{Calibration, Level};
use tinyllama_course::run::folder;
use tinyllama_engine::model::Weights;
use tinyllama_engine::targets::v4::{
    self, Concurrency, Executor, LaunchTimes, StepPhase, StepSpan,
};
use tinyllama_engine::train::{Data, EngineDevice, MatrixProducts};

#[derive(Debug, Args)]
pub struct LaunchesArgs {
    #[command(flatten)]
    training: TrainingArgs,
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// Launches of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct LaunchRow {
    phase: &'static str,
    launch: String,
    count: usize,
    /// Microseconds of one launch, directly after others of its kind.
    us: f64,
    us_together: f64,
    mflop: f64,
    megabytes: f64,
    /// Time for the operations or for the bytes at this device's calibrated rates, whichever is larger; null without
    /// a calibration.
    floor_us: Option<f64>,
}

#[derive(Serialize)]
struct LaunchesDocument<'a> {
    device: &'a str,
    products: MatrixProducts,
    /// Calibrated rates in FLOP/s and bytes/s.
    rates: Option<(f64, f64)>,
    rows: &'a [LaunchRow],
}

impl Analysis for LaunchesArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let options = self.training.options(v4::TARGET)?;
        let device = v4::open(&options)?;
        device.driver("timing V4's launches")?;
        let precision = device.precision(&options)?;
        let facts = &device.facts;
        let kept = Calibration::load(&folder::state_folder()?, &facts.backend, &facts.device)?;
        let rates = kept.and_then(|kept| {
            let flops = kept.flops_per_s(&precision.to_string(), None)?;
            Some((flops, kept.bytes_per_s(Level::Cold)?))
        });
        eprintln!("compiling kernels, timing the matrix library's algorithms and each launch");
        let mut executor = device.device_executor(&options, Concurrency::NONE)?;
        let weights = Weights::small(&options.config, options.seed);
        let values = executor.schedule().layout.place(&weights);
        executor.set_weights(&values)?;
        let batch = Data::synthetic(&options.config, options.seed).next_batch();
        executor.place(&batch.tokens, &batch.targets)?;
        executor.run(StepSpan::Gradients)?;
        executor.wait()?;
        let times = executor.launch_times()?;
        let rows: Vec<LaunchRow> = times.iter().map(|times| row(times, rates)).collect();
        let document = LaunchesDocument {
            device: &facts.device,
            products: device.matrix_products(&options),
            rates,
            rows: &rows,
        };
        let table = table(&document);
        let mut page = AnalysisPage::default();
        match self.markdown {
            true => markdown(&mut page, &table),
            false => page.table(table),
        }
        AnalysisResult::new(&document, page)
    }
}

fn row(times: &LaunchTimes, rates: Option<(f64, f64)>) -> LaunchRow {
    let work = times.work;
    let floor = |(flops, bytes): (f64, f64)| (work.flops / flops).max(work.bytes / bytes) * 1e6;
    LaunchRow {
        phase: StepPhase::name(times.phase),
        launch: times.label.clone(),
        count: times.count,
        us: times.microseconds,
        us_together: times.microseconds * times.count as f64,
        mflop: work.flops / 1e6,
        megabytes: work.bytes / 1e6,
        floor_us: rates.map(floor),
    }
}

impl LaunchRow {
    /// The lower limit's share of the measured time.
    fn floor_share(&self) -> Option<String> {
        let floor = self.floor_us?;
        Some(format!("{:.0} %", 100.0 * floor / self.us))
    }
}

fn table(found: &LaunchesDocument<'_>) -> TextTable {
    let sum: f64 = found.rows.iter().map(|row| row.us_together).sum();
    let title = format!("V4's launches on {}, {}", found.device, found.products);
    TableColumns::titled(title, found.rows)
        .left("launch", |row| row.launch.clone())
        .left("phase", |row| row.phase.to_string())
        .right("count", |row| row.count.to_string())
        .right("us each", |row| format!("{:.2}", row.us))
        .right("us", |row| format!("{:.1}", row.us_together))
        .right("MFLOP", |row| format!("{:.1}", row.mflop))
        .right("MB", |row| format!("{:.2}", row.megabytes))
        .right("floor us", |row| number(row.floor_us, 2))
        .right("of floor", LaunchRow::floor_share)
        .note(format!(
            "sum {sum:.1} us; each kind is timed alone, with launches back to back in a graph and operands \
             in the cache if they fit: products and norms may be faster than the memory floor"
        ))
        .note(match found.rates {
            Some((flops, bytes)) => format!(
                "floor: operations at {:.0} TFLOP/s or bytes at {:.2} TB/s, as `calibrate` measured them here",
                flops / 1e12,
                bytes / 1e12
            ),
            None => "no floor: run `tinyllama-tutor calibrate` on this device first".into(),
        })
        .into()
}

/// Writes the table with its first column as code.
fn markdown(page: &mut AnalysisPage, table: &TextTable) {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    page.line(format_args!("| {} |", names.join(" | ")));
    page.line(format_args!("|{}", "---|".repeat(names.len())));
    for row in &table.rows {
        if let Some((launch, figures)) = row.split_first() {
            page.line(format_args!("| `{launch}` | {} |", figures.join(" | ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_engine::model::work::Work;
    use tinyllama_engine::targets::v4::StepPhase;

    #[test]
    fn the_floor_is_the_larger_of_arithmetic_and_memory() {
        let times = |flops, bytes| LaunchTimes {
            phase: StepPhase::Forward,
            label: "gemm".into(),
            count: 8,
            microseconds: 10.0,
            work: Work { flops, bytes },
        };
        let rates = Some((1e12, 1e12));
        assert_eq!(
            row(&times(4e6, 1e6), rates).floor_share().as_deref(),
            Some("40 %")
        );
        let by_memory = row(&times(4e6, 8e6), rates);
        assert_eq!(
            (by_memory.floor_share().as_deref(), by_memory.us_together),
            (Some("80 %"), 80.0)
        );
        assert_eq!(row(&times(4e6, 8e6), None).floor_share(), None);
    }
}
