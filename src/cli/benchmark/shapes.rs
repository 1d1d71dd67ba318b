//! `benchmark v4`: V4 with and without its graph, at several shapes.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::cli::analysis::{
    Analysis, AnalysisPage, AnalysisResult, AnalysisRunner, Flags, GridColumn, GridSizes, SizeGrid,
    TIMED,
};
use tinyllama_analysis::scaling::{ScalingPoint, Size};
use tinyllama_base::table::TableColumns;
use tinyllama_base::units::{factor, human_bytes, number};
use tinyllama_contract::bounds;

#[derive(Debug, Args)]
#[command(mut_arg("lengths", |lengths| lengths.default_value("128")))]
#[command(mut_arg("batches", |sizes| sizes.default_values(["1", "8", "32"])))]
pub struct ShapesArgs {
    #[command(flatten)]
    sizes: GridSizes,
    /// Target to compare with, optionally with flags after a colon: `v1`, `v2:--graph-fusion=on`; may be repeated
    #[arg(long, value_name = "TARGET")]
    with: Vec<RunSpec>,
    /// Rounds; each round runs everything once, in turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = bounds::ROUNDS)]
    rounds: usize,
    #[command(flatten)]
    flags: Flags,
}
use tinyllama_contract::flags::RunSpec;

/// Results of one target at one shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ShapeRow {
    #[serde(flatten)]
    size: Size,
    name: String,
    /// Median of the rounds' medians.
    step_ms: f64,
    step_ms_of_rounds: Vec<f64>,
    /// The uncaptured schedule's step time at this shape, divided by this one's.
    speed_up: Option<f64>,
    tokens_per_s: f64,
    /// Maximum of bytes reserved on the device.
    peak_bytes: Option<u64>,
    /// Launches by the host, then kernels of a replayed graph.
    launches: Option<f64>,
    captured: Option<f64>,
    matmul_precision: String,
}

impl Analysis for ShapesArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let ultra = |state: &str| RunSpec::parse("v4", [format!("--ultra={state}")]);
        let specs = [&[ultra("off")?, ultra("on")?], &self.with[..]].concat();
        let mut grid = SizeGrid::new(&specs, &self.flags.merged_with(&TIMED), &self.sizes)?;
        let ended = grid.run(&mut AnalysisRunner::open(&self.flags)?, self.rounds);
        let rows: Vec<ShapeRow> = (0..grid.sizes.len())
            .flat_map(|at| rows(&grid, at))
            .collect();
        let mut runs = grid
            .columns
            .iter()
            .flat_map(|column| &column.runs)
            .flatten();
        let device = runs.next().map(|run| &*run.hello.device);
        let document = json!({ "device": device, "complete": ended.is_ok(), "rows": rows });
        let page = device.map(|device| page(device, &rows));
        Ok(AnalysisResult::new(&document, page.unwrap_or_default())?.with_run_result(ended))
    }
}

/// All rows of a size. The uncaptured schedule comes first.
fn rows(grid: &SizeGrid, at: usize) -> Vec<ShapeRow> {
    let mut standard = None;
    let row = |column: &GridColumn| {
        let runs = &column.runs[at];
        let last = runs.last()?;
        let measured = ScalingPoint::from_runs(grid.sizes[at], runs)?;
        let standard = *standard.get_or_insert(measured.step_ms);
        Some(ShapeRow {
            size: measured.size,
            name: column.spec.to_string(),
            step_ms: measured.step_ms,
            step_ms_of_rounds: measured.step_ms_of_rounds,
            speed_up: Some(standard / measured.step_ms),
            tokens_per_s: measured.tokens_per_s,
            peak_bytes: measured.peak_bytes,
            launches: measured.launches,
            captured: last.summary.captured_per_step,
            matmul_precision: last.hello.matmul_precision.to_string(),
        })
    };
    grid.columns.iter().filter_map(row).collect()
}

fn page(device: &str, rows: &[ShapeRow]) -> AnalysisPage {
    let mut page = AnalysisPage::default();
    let mut table = TableColumns::titled(format!("V4 on {device}"), rows)
        .left("", |row| row.name.clone())
        .right("batch", |row| row.size.batch_size.to_string())
        .right("tokens", |row| row.size.sequence_length.to_string())
        .right("step ms", |row| format!("{:.3}", row.step_ms))
        .right("speed-up", |row| row.speed_up.map(factor))
        .right("tokens/s", |row| format!("{:.0}", row.tokens_per_s))
        .right("memory", |row| row.peak_bytes.map(human_bytes))
        .right("launches", |row| number(row.launches, 0))
        .right("in a graph", |row| number(row.captured, 0))
        .note("speed-up: over v4 --ultra=off at the same shape, which is the same schedule launch by launch");
    if rows.iter().all(|row| row.captured.is_none()) {
        table = table.note("nothing was captured here: both rows of v4 are the same work, so their difference is noise");
    }
    if let Some(first) = rows.first() {
        table = table.note(format!("v4's products: {}", first.matmul_precision));
    }
    page.table(table);
    page
}
