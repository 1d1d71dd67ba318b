//! `compare`: compares targets, other programs, or stored runs.

mod peers;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use self::peers::Peer;
use super::Exit;
use super::analysis::{
    Analysis, AnalysisPage, AnalysisResult, AnalysisRunner, Flags, Measure, TIMED, range,
    stored_run, workshop_table,
};
use super::print_result::print_page;
use tinyllama_analysis::comparison::{
    Comparison, ComparisonRow, RunOrder, Side, compare, total_series,
};
use tinyllama_analysis::relative::USUAL_CONFIDENCE;
use tinyllama_analysis::workshop::{self, ClaimComparison};
use tinyllama_analysis::{MeasuredRun, RunVariant};
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Share, human_bytes, number, rate, whole_percent};
use tinyllama_contract::flags::{RunSpec, UsageError};
use tinyllama_runs::{Control, folder};

/// Steps of the profile pass. `--workshop` needs it to time parts.
const PROFILED_STEPS: usize = 3;

#[derive(Debug, Args)]
#[command(after_help = r#"Examples:
  tinyllama-tutor compare v1 v2 v3 v4 --config small
      the versions, three rounds in turns
  tinyllama-tutor compare v2 v2:--graph-fusion=off
      one switch
  tinyllama-tutor compare v4 --peer "python3 peer.py" --no-phases
      next to your own program
  tinyllama-tutor compare v1 v4 --workshop
      next to the workshop's figures
  tinyllama-tutor compare RUN RUN
      runs that were kept, by id or folder"#)]
pub struct CompareArgs {
    /// Targets (`v1`, `v2:--graph-fusion=off`), or stored runs by id or folder
    #[arg(required = true, value_name = "TARGET OR RUN")]
    compared: Vec<String>,
    #[command(flatten)]
    measure: Measure,
    /// Another program to include; it runs first. The command prints one JSON object per line with `variant` and
    /// `step_ms`; may be repeated
    #[arg(long, value_name = "COMMAND")]
    peer: Vec<String>,
    /// Skip the additional run of each target that times forward, backward and optimizer separately
    #[arg(long)]
    no_phases: bool,
    /// Compare the measurements with the workshop's own figures
    #[arg(long)]
    workshop: bool,
    #[command(flatten)]
    flags: Flags,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct CompareDocument<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    #[serde(skip_serializing_if = "<[Peer]>::is_empty")]
    peers: &'a [Peer],
    #[serde(skip_serializing_if = "Option::is_none")]
    workshop: Option<&'a [ClaimComparison]>,
}

impl Analysis for CompareArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let root = folder::state_folder()?;
        let found = self.compared.iter().map(|text| stored_run(text, &root));
        let found = found.collect::<Result<Vec<_>>>()?;
        let kept: Vec<_> = found.iter().flatten().collect();
        let (made, sides, peers) = if kept.is_empty() {
            let (sides, peers) = self.measured()?;
            (RunOrder::InTurns, sides, peers)
        } else if kept.len() == found.len() {
            (
                RunOrder::Apart,
                read(kept)?,
                peers::run(&self.peer, &Control::default())?,
            )
        } else {
            bail!(UsageError(
                "targets and kept runs cannot be mixed: the targets would run now, the others ran at another time. \
                 Run the target first, then name its run"
                    .into()
            ))
        };
        let comparison = compare(&sides, made, self.measure.confidence);
        let base = sides.first().map(|first| total_series(&first.runs));
        let base = base.unwrap_or_default();
        let over = |peer: Peer| peer.relative_to(&base, self.measure.confidence);
        let peers: Vec<Peer> = peers.into_iter().map(over).collect();
        let workshop = self
            .workshop
            .then(|| workshop::compare_with_claims(&comparison.rows));
        let document = CompareDocument {
            comparison: &comparison,
            peers: &peers,
            workshop: workshop.as_deref(),
        };
        AnalysisResult::new(&document, page(&document))
    }
}

/// Compares stored runs. The first one is the baseline.
pub fn compare_stored(paths: &[PathBuf], as_json: bool) -> Result<Exit> {
    let comparison = compare(&read(paths)?, RunOrder::Apart, USUAL_CONFIDENCE);
    let document = CompareDocument {
        comparison: &comparison,
        peers: &[],
        workshop: None,
    };
    print_page(as_json, &document, &page(&document))
}

fn read<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<Side>> {
    let paths = paths.into_iter();
    paths
        .map(|path| Ok(kept(MeasuredRun::read(path)?)))
        .collect()
}

fn kept(run: MeasuredRun) -> Side {
    let id = run.path.file_name().unwrap_or_default().to_string_lossy();
    Side {
        name: format!("{} {id}", run.hello.target),
        runs: vec![run],
        phases: None,
    }
}

impl CompareArgs {
    /// Starts the first run only after all checks and all other programs.
    fn measured(&self) -> Result<(Vec<Side>, Vec<Peer>)> {
        let common = self.flags.merged_with(&TIMED);
        let flags = ["--sync=phases", "--repeatability=off", "--flops"];
        let mut apart: Vec<String> = flags.map(String::from).into();
        if self.workshop {
            apart.push(format!("--profile-steps={PROFILED_STEPS}"));
        }
        let entries = self.compared.iter().map(|text| text.parse::<RunSpec>());
        let entries = entries.collect::<Result<Vec<_>, _>>()?;
        let mut timed = Vec::new();
        let mut with_phases = Vec::new();
        for entry in &entries {
            timed.push(RunVariant::new(entry.to_string(), entry, &common, &[])?);
            let name = format!("{entry}, phases timed apart");
            with_phases.push(RunVariant::new(name, entry, &common, &apart)?);
        }
        let mut runner = AnalysisRunner::open(&self.flags)?;
        let peers = peers::run(&self.peer, &runner.runner.stop);
        runner.runner.check_stop()?;
        let peers = peers?;
        let runs = runner.run_rounds(&timed, self.measure.rounds)?;
        let mut sides = Vec::new();
        for (at, (variant, runs)) in timed.into_iter().zip(runs).enumerate() {
            let phases = match self.no_phases {
                true => None,
                false => Some(runner.run(&with_phases[at], (at + 1, entries.len()))?),
            };
            sides.push(Side {
                name: variant.name,
                runs,
                phases,
            });
        }
        Ok((sides, peers))
    }
}

fn page(found: &CompareDocument<'_>) -> AnalysisPage {
    let mut page = AnalysisPage::default();
    let comparison = found.comparison;
    if let Some(row) = comparison.rows.first() {
        page.line(format_args!("{} ({})", row.device, row.backend));
    }
    let peers = found.peers.iter().map(Peer::row);
    let rows: Vec<ComparisonRow> = comparison.rows.iter().cloned().chain(peers).collect();
    page.table(times(comparison, &rows, !found.peers.is_empty()));
    page.table(figures(&rows));
    if let Some(confronted) = found.workshop {
        page.table(workshop_table(confronted, &workshop::NOTES));
    }
    for warning in &comparison.warnings {
        page.line(format_args!("warning: {warning}"));
    }
    page
}

fn times(comparison: &Comparison, rows: &[ComparisonRow], has_peers: bool) -> TextTable {
    let peers: &[&str] = if has_peers { &[peers::NOTE] } else { &[] };
    TableColumns::titled("Step time", rows)
        .left("", |row| row.name.clone())
        .right("step ms", |row| number(row.step_ms, 3))
        .right("range of runs", |row| range(&row.step_ms_of_runs).unwrap_or("one run".into()))
        .right("speed-up", |row| {
            let time = row.relative_time.as_ref();
            time.map_or("1x".into(), |time| time.speedup_text())
        })
        .left("finding", |row| {
            let time = row.relative_time.as_ref();
            time.map_or("compared with".into(), |time| time.finding_text())
        })
        .note(format!(
            "step ms: median of the runs' medians; speed-up: over the first row, with its {} interval; a difference under {} counts as none",
            whole_percent(Share(comparison.confidence)),
            whole_percent(Share(comparison.margin))
        ))
        .notes(peers)
        .into()
}

fn figures(rows: &[ComparisonRow]) -> TextTable {
    TableColumns::titled("Phases and costs", rows)
        .left("", |row| row.name.clone())
        .right("forward", |row| number(row.phases.forward_ms, 3))
        .right("backward", |row| number(row.phases.backward_ms, 3))
        .right("optimizer", |row| number(row.phases.optimizer_ms, 3))
        .right("launches", |row| number(row.launches_per_step, 0))
        .right("memory", |row| row.peak_bytes().map(human_bytes))
        .right("samples/s", |row| number(row.samples_per_s, 1))
        .right("achieved", |row| row.flops_per_s.map(|flops| rate(flops, "FLOP")))
        .right("energy", |row| row.energy_per_step.map(|energy| energy.to_string()))
        .right("loss", |row| number(row.final_loss, 4))
        .right("gradients", ComparisonRow::gradients)
        .right("first step", |row| row.first_step_ms.map(|ms| format!("{:.1} s", ms / 1e3)))
        .note(
            "phases: ms, from a run that waits for the device after each phase, which takes extra time; \
             launches: per step; memory: taken from the device; achieved: FLOP counted from shapes over the \
             median step; energy: of the whole device per step, from its power once a second, with the 95 % \
             interval of the mean; first step: of the first round, compiling and tuning included",
        )
        .into()
}
