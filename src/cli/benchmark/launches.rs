//! `benchmark launches`: V4's schedule as a table.

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::cli::analysis::{Analysis, AnalysisPage, AnalysisResult};
use tinyllama_analysis::calibration::{Calibration, Level};
use tinyllama_base::errln;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Share, number, percent};
use tinyllama_contract::flags::TrainingArgs;
use tinyllama_engine::model::Weights;
use tinyllama_engine::targets::v4::{
    self, Concurrency, Executor, LaunchTimes, StepPhase, StepSpan,
};
use tinyllama_engine::train::{Data, EngineDevice, MatrixProducts};
use tinyllama_runs::folder;

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
    /// Time of a launch that does nothing, in a graph, behind another.
    launch_us: f64,
    /// How much longer the operations take if only as many compute units work as the launch has blocks; null without a
    /// calibration, or if the driver does not tell the blocks.
    tiles_us: Option<f64>,
    /// The time that is left.
    rest_us: Option<f64>,
}

#[derive(Serialize)]
struct LaunchesDocument<'a> {
    device: &'a str,
    products: MatrixProducts,
    /// Calibrated rates in FLOP/s and bytes/s.
    rates: Option<(f64, f64)>,
    /// Microseconds of all floors.
    floors_us: Option<f64>,
    /// Microseconds of all floors and launches: no schedule of the same launches is faster.
    wall_us: Option<f64>,
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
        errln!("compiling kernels, timing the matrix library's algorithms and each launch");
        let mut executor = device.device_executor(&options, Concurrency::NONE)?;
        let weights = Weights::small(&options.config, options.flags.seed);
        let values = executor.schedule().layout.place(&weights);
        executor.set_weights(&values)?;
        let batch = Data::synthetic(&options.config, options.flags.seed).next_batch();
        executor.place(&batch.tokens, &batch.targets)?;
        executor.run(StepSpan::Gradients)?;
        executor.wait()?;
        let times = executor.launch_times()?;
        let device_facts = DeviceLimits {
            rates,
            launch_us: executor.empty_launch()?,
            compute_units: device.driver("this")?.properties().compute_units,
        };
        let rows = times.iter().map(|times| device_facts.row(times));
        let rows: Vec<LaunchRow> = rows.collect();
        let document = LaunchesDocument {
            device: &facts.device,
            products: device.matrix_products(&options),
            rates,
            floors_us: sum(&rows, |row| row.floor_us),
            wall_us: sum(&rows, |row| Some(row.floor_us? + row.launch_us)),
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

/// What is known of the device.
struct DeviceLimits {
    /// FLOP/s and bytes/s.
    rates: Option<(f64, f64)>,
    launch_us: f64,
    compute_units: u32,
}

/// Sums a part of all launches; `None` if one is not known.
fn sum(rows: &[LaunchRow], part: impl Fn(&LaunchRow) -> Option<f64>) -> Option<f64> {
    let parts = rows.iter().map(|row| Some(row.count as f64 * part(row)?));
    parts.sum()
}

impl DeviceLimits {
    fn row(&self, times: &LaunchTimes) -> LaunchRow {
        let work = times.work;
        let floor = |(flops, bytes): (f64, f64), share: f64| {
            (work.flops / (flops * share)).max(work.bytes / bytes) * 1e6
        };
        let floor_us = self.rates.map(|rates| floor(rates, 1.0));
        let tiles_us = self.rates.zip(times.blocks).zip(floor_us);
        let tiles_us = tiles_us.map(|((rates, blocks), least)| {
            let share = blocks.max(1) as f64 / f64::from(self.compute_units.max(1));
            floor(rates, share.min(1.0)) - least
        });
        let known = floor_us.map(|floor| floor + self.launch_us + tiles_us.unwrap_or(0.0));
        LaunchRow {
            phase: StepPhase::name(times.phase),
            launch: times.label.clone(),
            count: times.count,
            us: times.microseconds,
            us_together: times.microseconds * times.count as f64,
            mflop: work.flops / 1e6,
            megabytes: work.bytes / 1e6,
            floor_us,
            launch_us: self.launch_us,
            tiles_us,
            rest_us: known.map(|known| times.microseconds - known),
        }
    }
}

impl LaunchRow {
    /// The lower limit's share of the measured time.
    fn floor_share(&self) -> Option<String> {
        self.floor_us.map(|floor| percent(Share(floor / self.us)))
    }
}

fn table(found: &LaunchesDocument<'_>) -> TextTable {
    let all: f64 = found.rows.iter().map(|row| row.us_together).sum();
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
        .right("launch us", |row| format!("{:.2}", row.launch_us))
        .right("tiles us", |row| number(row.tiles_us, 2))
        .right("rest us", |row| number(row.rest_us, 2))
        .note(format!(
            "sum {all:.1} us; each kind is timed alone, with launches back to back in a graph and operands \
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
        .note(
            "us each = floor + launch + tiles + rest; launch: an empty kernel behind another in a graph; tiles: the \
             operations on as many compute units as there are blocks; rest < 0: operands came from the cache",
        )
        .note(match found.floors_us.zip(found.wall_us) {
            Some((floors, wall)) => format!(
                "the next wall: floors {floors:.0} us and launches {:.0} us are {wall:.0} us; only fewer launches pass it",
                wall - floors
            ),
            None => "no wall without floors".into(),
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

    fn times(flops: f64, bytes: f64, blocks: Option<u64>) -> LaunchTimes {
        LaunchTimes {
            phase: StepPhase::Forward,
            label: "gemm".into(),
            count: 8,
            microseconds: 10.0,
            work: Work { flops, bytes },
            blocks,
        }
    }

    const LIMITS: DeviceLimits = DeviceLimits {
        rates: Some((1e12, 1e12)),
        launch_us: 1.5,
        compute_units: 100,
    };

    #[test]
    fn the_floor_is_the_larger_of_arithmetic_and_memory() {
        let by_arithmetic = LIMITS.row(&times(4e6, 1e6, None));
        assert_eq!(by_arithmetic.floor_share().as_deref(), Some("40.0 %"));
        let by_memory = LIMITS.row(&times(4e6, 8e6, None));
        assert_eq!(by_memory.floor_share().as_deref(), Some("80.0 %"));
        assert_eq!(by_memory.us_together, 80.0);
        let rates = None;
        let uncalibrated = DeviceLimits { rates, ..LIMITS };
        let row = uncalibrated.row(&times(4e6, 8e6, Some(50)));
        assert_eq!(
            (row.floor_share(), row.tiles_us, row.rest_us),
            (None, None, None)
        );
    }

    #[test]
    fn a_launch_is_its_floor_its_launch_its_idle_units_and_the_rest() {
        // 4 us of arithmetic on half the units take 8, and 1 us of bytes does not matter: 10 = 4 + 1.5 + 4 + 0.5.
        let row = LIMITS.row(&times(4e6, 1e6, Some(50)));
        assert_eq!((row.tiles_us, row.rest_us), (Some(4.0), Some(0.5)));
        // With 3 us of bytes a third of the units would still do 2 us of arithmetic in 6: 3 more than the bytes.
        let row = LIMITS.row(&times(1.5e6, 3e6, Some(25)));
        assert_eq!((row.floor_us, row.tiles_us), (Some(3.0), Some(3.0)));
        // Full waves leave no unit idle, and unknown blocks leave the tiles to the rest.
        assert_eq!(LIMITS.row(&times(4e6, 1e6, Some(250))).tiles_us, Some(0.0));
        let unknown = LIMITS.row(&times(4e6, 1e6, None));
        assert_eq!((unknown.tiles_us, unknown.rest_us), (None, Some(4.5)));
        let rows = [row, unknown];
        assert_eq!(sum(&rows, |row| row.floor_us), Some(8.0 * 7.0));
        assert_eq!(sum(&rows, |row| row.tiles_us), None);
    }
}
