//! `roofline`: shows a target under this device's ceilings.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use itertools::Itertools;
use serde::Serialize;

use super::analysis::{Analysis, AnalysisPage, AnalysisResult, AnalysisRunner, Flags, stored_run};
use super::kernel_inputs;
use tinyllama_analysis::calibration::Calibration;
use tinyllama_analysis::roofline::{CounterCheck, against_counters, of_run};
use tinyllama_analysis::{MeasuredRun, RunVariant};
use tinyllama_base::roofline::{Point, Roofline, svg};
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Share, bytes, figure, percent, rate};
use tinyllama_contract::bounds;
use tinyllama_contract::flags::{RunSpec, UsageError};
use tinyllama_profile::read::import;
use tinyllama_runs::folder;
use tinyllama_ui::tui::picture_in_ascii;

/// Rows of the diagram, and its most columns.
const HEIGHT: u16 = 22;
const MOST_WIDTH: usize = 110;

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor roofline v3 --config small --svg v3.svg
      run it, draw it, and write the diagram
  tinyllama-tutor roofline RUN --counters results/
      a kept run, against hardware counters of rocprofv3 or rocprof-compute")]
pub struct RooflineArgs {
    /// A target, optionally with flags after a colon, or a stored run by id or folder
    #[arg(value_name = "TARGET OR RUN")]
    target: String,
    /// Extra steps that time every kernel
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = bounds::PROFILED_STEPS)]
    profile_steps: usize,
    /// Write the diagram as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// A profile with hardware counters to compare with the counted work
    #[arg(long, value_name = "FILE OR FOLDER")]
    counters: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct RooflineDocument<'a> {
    target: &'a str,
    device: &'a str,
    backend: &'a str,
    /// Type of the operands of matrix products.
    dtype: &'a str,
    #[serde(flatten)]
    roofline: &'a Roofline,
    counters: &'a [CounterCheck],
    /// Changes since the ceilings were measured.
    stale: &'a [String],
    run: String,
}

impl Analysis for RooflineArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let root = folder::state_folder()?;
        let run = self.measured(&root)?;
        let hello = &run.hello;
        let calibration = Calibration::load(&root, &hello.backend, &hello.device)?;
        let kept = calibration.as_ref();
        let stale = kept.map_or(vec![], |kept| kept.staleness(&hello.facts()));
        let works = kernel_inputs::works(&hello.config);
        let roofline = of_run(&run, calibration.as_ref(), &works);
        let counters = match &self.counters {
            Some(path) => {
                let imported = import(path).map_err(|error| UsageError(error.to_string()))?;
                against_counters(&roofline, &imported.profile)
            }
            None => vec![],
        };
        if let Some(path) = &self.svg {
            std::fs::write(path, svg::document(&roofline))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        let document = RooflineDocument {
            target: &hello.target,
            device: &hello.device,
            backend: &hello.backend,
            dtype: &hello.dtype,
            roofline: &roofline,
            counters: &counters,
            stale: &stale,
            run: run.path.display().to_string(),
        };
        AnalysisResult::new(&document, self.page(&document))
    }
}

impl RooflineArgs {
    fn measured(&self, root: &Path) -> Result<MeasuredRun> {
        if let Some(kept) = stored_run(&self.target, root)? {
            let run = MeasuredRun::read(&kept)?;
            if run.parts.is_none() {
                bail!(UsageError(format!(
                    "{} did not count its work: run it again with --flops --profile-steps 5, or name a target",
                    self.target
                )));
            }
            return Ok(run);
        }
        let spec: RunSpec = self.target.parse()?;
        let steps = format!("--profile-steps={}", self.profile_steps);
        let own = ["--repeatability=off", "--flops", &steps];
        let common = self.flags.merged_with(&own);
        let variant = RunVariant::new(spec.command_name(), &spec, &common, &[])?;
        Ok(AnalysisRunner::open(&self.flags)?.run(&variant, (1, 1))?)
    }

    fn page(&self, found: &RooflineDocument<'_>) -> AnalysisPage {
        let mut page = AnalysisPage::default();
        let roofline = found.roofline;
        page.line(format_args!("{}\n", roofline.title));
        let picture = picture_in_ascii(roofline, page.width.min(MOST_WIDTH) as u16, HEIGHT);
        page.line(match &picture {
            Some(picture) => picture.trim_end(),
            None => "Nothing to draw: no work was counted and timed.",
        });
        for ceiling in roofline.ceilings.iter() {
            page.line(format_args!("  {ceiling}"));
        }
        page.table(points(roofline));
        if self.counters.is_some() {
            page.table(counters(found.counters));
        }
        for note in &roofline.notes {
            page.paragraph(note);
        }
        for change in found.stale {
            page.paragraph(&format!(
                "The ceilings were measured earlier; since then this changed: {change}. Run `calibrate` again."
            ));
        }
        page
    }
}

fn points(roofline: &Roofline) -> TextTable {
    let letters = roofline.letters();
    let letters = letters.iter().map(|letter| letter.unwrap_or(' '));
    let lettered: Vec<(char, &Point)> = letters.zip(&roofline.points).collect();
    let mut table = TableColumns::titled("Counted work, measured time", &lettered)
        .left("", |(letter, row)| format!("{letter} {}", row.name))
        .left("", |(_, row)| row.grain.to_string())
        .right("ms", |(_, row)| format!("{:.3}", row.ms))
        .right("GFLOP", |(_, row)| format!("{:.3}", row.flops / 1e9))
        .right("MB", |(_, row)| format!("{:.2}", row.bytes / 1e6))
        .right("FLOP/byte", |(_, row)| format!("{:.2}", row.intensity))
        .right("reached", |(_, row)| rate(row.flops_per_s, "FLOP"))
        .right("of limit", |(_, row)| row.share.map(Share).map(percent))
        .left("bound by", |(_, row)| {
            row.bound.map(|bound| bound.to_string())
        });
    let shown = || lettered.iter().filter(|(letter, _)| *letter != ' ');
    let advice = shown().filter_map(|(_, point)| point.what_would_help.as_ref());
    for help in advice.unique() {
        let who = shown().filter(|(_, point)| point.what_would_help.as_ref() == Some(help));
        let who = itertools::join(who.map(|(_, point)| &point.name), ", ");
        table = table.note(format!("{who}: {help}"));
    }
    table.into()
}

fn counters(checks: &[CounterCheck]) -> TextTable {
    let title = "Counted from shapes against hardware counters, a launch";
    TableColumns::titled(title, checks)
        .left("kernel", |check| check.point.clone())
        .right("FLOP counted", |check| figure(check.counted_flops))
        .right("by counters", |check| figure(check.counter_flops))
        .right("bytes counted", |check| bytes(check.counted_bytes))
        .right("by counters", |check| bytes(check.counter_bytes))
        .note(match checks {
            [] => "no kernel of the profile has both counters and a name that was counted",
            _ => "counters see what really happened: bytes read again after they left a cache, operations of masked lanes, addresses",
        })
        .into()
}
