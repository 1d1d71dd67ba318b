//! `scale`: runs targets over a grid of sequence lengths and batch sizes, and fits how time and memory grow.

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::analysis::{
    Analysis, AnalysisPage, AnalysisResult, AnalysisRunner, Flags, GridColumn, GridSizes, Measure,
    SizeGrid, Sweep, TIMED, bar, workshop_table,
};
use tinyllama_analysis::comparison::total_series;
use tinyllama_analysis::relative::{RelativeTime, USUAL_MARGIN};
use tinyllama_analysis::scaling::{ScalingCell, ScalingPoint, Size, TargetScale, growths};
use tinyllama_analysis::workshop::{self, ClaimComparison};
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{human_bytes, number};

#[derive(Debug, Args)]
#[command(mut_arg("rounds", |rounds| rounds.default_value("1")), after_help = r"Examples:
  tinyllama-tutor scale v1 --seq-len 64,128,256,512,1024
      growth with the sequence length
  tinyllama-tutor scale v1 v4 --seq-len 128 --batch-size 1,4,8,16,32 --workshop
      two targets next to the workshop's table")]
pub struct ScaleArgs {
    /// Targets to run, each optionally with flags after a colon; the first of several is the one the others are
    /// compared with
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<RunSpec>,
    #[command(flatten)]
    sizes: GridSizes,
    #[command(flatten)]
    measure: Measure,
    /// Compare the measured growth with the workshop's statements
    #[arg(long)]
    workshop: bool,
    #[command(flatten)]
    sweep: Sweep,
    #[command(flatten)]
    flags: Flags,
}
use tinyllama_contract::flags::RunSpec;

/// A target's time divided by the first target's time, at a size that both ran.
#[derive(Serialize)]
struct AtSize {
    size: Size,
    name: String,
    relative_time: RelativeTime,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct ScaleDocument<'a> {
    /// False if cells are missing because of an interruption or a failure.
    complete: bool,
    rounds: usize,
    confidence: f64,
    scales: &'a [TargetScale],
    /// Ratios to the first target; empty with a single target.
    over_the_first: &'a [AtSize],
    #[serde(skip_serializing_if = "Option::is_none")]
    workshop: Option<&'a [ClaimComparison]>,
}

impl Analysis for ScaleArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let common = self.flags.merged_with(&[&TIMED[..], &["--flops"]].concat());
        let mut grid = SizeGrid::new(&self.targets, &common, &self.sizes)?;
        let Measure { rounds, confidence } = self.measure;
        let mut runner = AnalysisRunner::open_for(&self.flags, &self.sweep)?;
        let ended = grid.run(&mut runner, rounds);
        let scale = |column: &GridColumn| scale(column, &grid.sizes, confidence);
        let scales: Vec<TargetScale> = grid.columns.iter().map(scale).collect();
        let workshop = self
            .workshop
            .then(|| workshop::scaling::compare_with_claims(&scales));
        let document = ScaleDocument {
            complete: ended.is_ok(),
            rounds,
            confidence,
            scales: &scales,
            over_the_first: &over_the_first(&grid, confidence),
            workshop: workshop.as_deref(),
        };
        Ok(AnalysisResult::new(&document, page(&document))?
            .with_nodes(&runner)
            .with_run_result(ended))
    }
}

/// The result of each size. Sizes that an interruption skipped are absent.
fn scale(column: &GridColumn, sizes: &[Size], confidence: f64) -> TargetScale {
    let cell = |(at, size): (usize, &Size)| match &column.out_of_memory[at] {
        Some(message) => Some(ScalingCell::OutOfMemory {
            size: *size,
            message: message.clone(),
        }),
        None if !column.may_fit(sizes, at) => Some(ScalingCell::NotTried { size: *size }),
        None => ScalingPoint::from_runs(*size, &column.runs[at]).map(ScalingCell::Measured),
    };
    let mut scale = TargetScale {
        name: column.spec.to_string(),
        target: column.spec.target.to_string(),
        cells: sizes.iter().enumerate().filter_map(cell).collect(),
        growths: vec![],
    };
    let measured: Vec<ScalingPoint> = scale.measured().into_iter().cloned().collect();
    scale.growths = growths(&measured, confidence);
    scale
}

/// Every other target's time divided by the first target's time, for each size.
fn over_the_first(grid: &SizeGrid, confidence: f64) -> Vec<AtSize> {
    let Some((first, others)) = grid.columns.split_first() else {
        return vec![];
    };
    let mut all = Vec::new();
    for (at, size) in grid.sizes.iter().enumerate() {
        let base = total_series(&first.runs[at]);
        for column in others {
            let own = total_series(&column.runs[at]);
            let time = RelativeTime::from_rounds(&own, &base, confidence, USUAL_MARGIN);
            all.extend(time.map(|relative_time| AtSize {
                size: *size,
                name: column.spec.to_string(),
                relative_time,
            }));
        }
    }
    all
}

fn page(found: &ScaleDocument<'_>) -> AnalysisPage {
    let mut page = AnalysisPage::default();
    for scale in found.scales.iter().filter(|scale| !scale.cells.is_empty()) {
        page.table(grid(scale));
        match scale.growths.is_empty() {
            true => page.line("\nTo see growth, at least two sizes must run."),
            false => page.table(growth(scale)),
        }
    }
    if let (Some(first), false) = (found.scales.first(), found.over_the_first.is_empty()) {
        page.table(
            TableColumns::titled(format!("Against {}", first.name), found.over_the_first)
                .right("sequence", |row| row.size.sequence_length.to_string())
                .right("batch", |row| row.size.batch_size.to_string())
                .left("", |row| row.name.clone())
                .right("times as fast", |row| row.relative_time.speedup_text())
                .left("finding", |row| row.relative_time.finding_text())
                .note("with one or two rounds an interval rests on the steps of single runs: it does not include differences from one start to the next"),
        );
    }
    if let Some(confronted) = found.workshop {
        page.table(workshop_table(confronted, &workshop::scaling::NOTES));
    }
    page
}

/// A table with one row per cell of the grid.
fn grid(scale: &TargetScale) -> TextTable {
    let times = scale.measured();
    let times = times.iter().map(|cell| cell.step_ms);
    let longest = times.fold(f64::MIN_POSITIVE, f64::max);
    let title = format!("{} over its sizes", scale.name);
    TableColumns::titled(title, &scale.cells)
        .right("sequence", |cell| cell.size().sequence_length.to_string())
        .right("batch", |cell| cell.size().batch_size.to_string())
        .right("step ms", |cell| number(Some(cell.measured()?.step_ms), 3))
        .right("tokens/s", |cell| {
            number(Some(cell.measured()?.tokens_per_s), 0)
        })
        .right("memory", |cell| {
            cell.measured()?.peak_bytes.map(human_bytes)
        })
        .right("launches", |cell| number(cell.measured()?.launches, 0))
        .left("", |cell| match cell {
            ScalingCell::Measured(cell) => bar(cell.step_ms / longest, 24, '#'),
            ScalingCell::OutOfMemory { .. } => "out of memory".into(),
            ScalingCell::NotTried { .. } => "not tried: a smaller one did not fit".into(),
        })
        .into()
}

/// A table with one row per exponent.
fn growth(scale: &TargetScale) -> TextTable {
    TableColumns::titled(format!("Growth of {}", scale.name), &scale.growths)
        .left("", |growth| growth.of.to_string())
        .left("with", |growth| growth.axis.name().to_string())
        .right("exponent", |growth| format!("{:.2}", growth.exponent))
        .right("interval", |growth| match growth.low.zip(growth.high) {
            Some((low, high)) => format!("{low:.2} to {high:.2}"),
            None => "needs more sizes".into(),
        })
        .left("between neighbours", |growth| {
            let locals = growth.between_neighbours.iter();
            itertools::join(locals.map(|local| format!("{:.2}", local.exponent)), " ")
        })
        .note(
            "1 is linear, 2 quadratic, 0 not at all. If the exponents between neighbours rise, something \
             that does not grow, such as launches, limits the smaller sizes. The fit's interval is wide then, \
             because no single power law holds",
        )
        .into()
}
