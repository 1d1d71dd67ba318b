//! `stages`: runs all stages of the debugging scenario and shows their symptoms on this device.

mod files;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;

use super::analysis::{
    Analysis, AnalysisPage, AnalysisResult, AnalysisRunner, Flags, Measure, Sweep, plural,
};
use tinyllama_analysis::comparison::{RunOrder, Side, compare};
use tinyllama_analysis::relative::RelativeTime;
use tinyllama_analysis::stages::{StageFindings, StageResult, WORKSHOP_NOTES, rows};
use tinyllama_analysis::workshop::FIGURES;
use tinyllama_analysis::{RunFailure, RunVariant};
use tinyllama_base::clock::unix_time;
use tinyllama_base::die_with_parent;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Share, human_bytes, number, number_or_not, times, whole_percent};
use tinyllama_contract::event::Kernels;
use tinyllama_profile::commands::{Tool, installed};
use tinyllama_runs::folder;

/// Times kernels in two extra steps. A strided tensor shows in the time of the kernel that reads it.
const PROFILED: &str = "--profile-steps=2";

/// Number of kernels shown for each stage.
const KERNELS: usize = 5;

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor stages --config small
      all six next to v1, and which effects show on this device
  tinyllama-tutor stages --profile --out stages
      with kernel tables, logs and traces in a folder")]
pub struct StagesArgs {
    #[command(flatten)]
    measure: Measure,
    /// Also show the longest kernels of each stage, and trace each with rocprofv3 if it is installed
    #[arg(long)]
    profile: bool,
    /// Folder for stageN.log, the events and the traces [default: a new one below the state folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    sweep: Sweep,
    #[command(flatten)]
    flags: Flags,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct StagesDocument<'a> {
    stages: &'a [StageResult],
    findings: &'a StageFindings,
    warnings: &'a [String],
    /// Stages that did not run, with reasons.
    failed: &'a [(String, String)],
    folder: &'a Path,
    kept: &'a Path,
}

impl Analysis for StagesArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let now = unix_time().as_secs();
        let root = folder::state_folder()?;
        let usual = || root.join("stages").join(now.to_string());
        let out = self.out.clone().unwrap_or_else(usual);
        folder::check_writable(&out)?;
        // Each stage defines the work that it waits for, so this command adds no flag for it.
        let common = self.flags.merged_with(&["--repeatability=off", PROFILED]);
        let variant = |target: &str| Ok(RunVariant::new(target, &target.parse()?, &common, &[])?);
        let stages = FIGURES.stages.iter();
        let variants = stages.map(|stage| variant(&stage.target));
        let variants = variants.collect::<Result<Vec<_>>>()?;
        let mut runner = AnalysisRunner::open_for(&self.flags, &self.sweep)?;
        let mut failed: Vec<(String, String)> = Vec::new();
        let Measure { rounds, confidence } = self.measure;
        let runs = runner.run_rounds_skipping(&variants, rounds, |failure| {
            let target = failure.variant.clone();
            failed.push((target, RunFailure::FailedRun(failure).to_string()));
            Ok(())
        })?;
        let side = |(variant, runs): (&RunVariant, _)| Side {
            name: variant.name.clone(),
            runs,
            phases: None,
        };
        let sides: Vec<Side> = variants.iter().zip(runs).map(side).collect();
        files::write_stage_files(&out, &sides)?;
        if self.profile {
            let ran =
                |variant: &&RunVariant| !failed.iter().any(|(target, _)| *target == variant.name);
            let ran: Vec<&RunVariant> = variants.iter().filter(ran).collect();
            self.trace_all(&runner, &ran, &out)?;
        }
        let comparison = compare(&sides, RunOrder::InTurns, confidence);
        let Some(findings) = StageFindings::from_stages(&sides, confidence, now) else {
            let failed = failed.iter();
            let why = failed.map(|(target, why)| format!("{target}: {why}"));
            bail!("no stage ran\n{}", itertools::join(why, "\n"));
        };
        let stages = rows(&comparison, &sides, confidence);
        let kept = findings.save(&root)?;
        let document = StagesDocument {
            stages: &stages,
            findings: &findings,
            warnings: &comparison.warnings,
            failed: &failed,
            folder: &out,
            kept: &kept,
        };
        let mut page = page(&document);
        if self.profile {
            kernels(&mut page, &sides);
        }
        let (out, kept) = (out.display(), kept.display());
        page.line(format_args!(
            "\nLogs and events are in {out}; what shows on this device is kept in {kept}."
        ));
        Ok(AnalysisResult::new(&document, page)?
            .with_nodes(&runner)
            .with_passed(failed.is_empty()))
    }
}

impl StagesArgs {
    /// Traces the stages that ran with rocprofv3, if it is installed.
    fn trace_all(
        &self,
        runner: &AnalysisRunner,
        variants: &[&RunVariant],
        out: &Path,
    ) -> Result<()> {
        if installed::find(Tool::Rocprofv3).is_none() {
            runner.print_line("rocprofv3 is not installed here: kernel tables only, no traces");
            return Ok(());
        }
        for variant in variants {
            runner.runner.check_stop()?;
            let target = &variant.name;
            runner.print_line(&format!("{target}: tracing with rocprofv3"));
            let mut command = Command::new(&runner.runner.launcher.program);
            command
                .args(["profile", "rocprofv3", target, "--out"])
                .arg(out.join(format!("{target}-rocprofv3")));
            command.arg("--launcher").arg(runner.runner.launcher.json());
            let command = command.arg("--").args(variant.spec.args());
            die_with_parent(command, libc::SIGTERM);
            let output = command.stdin(Stdio::null()).output();
            let output = output.context("cannot start the profiler")?;
            if !output.status.success() {
                let (status, why) = (output.status, String::from_utf8_lossy(&output.stderr));
                runner.print_line(&format!("{target}: rocprofv3 {status}: {}", why.trim()));
            }
        }
        Ok(())
    }
}

fn page(found: &StagesDocument<'_>) -> AnalysisPage {
    let mut page = AnalysisPage::default();
    let findings = found.findings;
    let rounds = plural(findings.rounds, "round");
    page.line(format_args!(
        "{} ({}), {rounds}",
        findings.device, findings.backend
    ));
    page.table(measured(found.stages, findings.confidence));
    page.table(workshop(found.stages));
    page.line("\nDoes it show on this device?");
    for effect in &found.findings.effects {
        page.paragraph(&format!("{}: {}; {}", effect.id, effect.shows, effect.text));
    }
    for (target, why) in found.failed {
        page.line(format_args!("{target} did not run: {why}"));
    }
    for warning in found.warnings {
        page.line(format_args!("warning: {warning}"));
    }
    page
}

/// Shows the longest kernels of each stage's last run, if the backend reports kernels.
fn kernels(page: &mut AnalysisPage, stages: &[Side]) {
    let timed = |side: &Side| Some((side.name.clone(), side.runs.last()?.kernels.clone()?));
    let timed: Vec<_> = stages.iter().filter_map(timed).collect();
    if timed.is_empty() {
        page.line("\nThis backend times no kernels.");
    }
    for (target, Kernels { kernels, .. }) in timed {
        let longest = &kernels[..kernels.len().min(KERNELS)];
        page.table(
            TableColumns::titled(format!("Longest kernels of {target}, a step"), longest)
                .left("kernel", |row| row.name.clone())
                .left("part", |row| row.part.clone())
                .right("launches", |row| format!("{:.1}", row.launches_per_step))
                .right("ms", |row| number(row.device_ms_per_step, 3)),
        );
    }
}

fn measured(stages: &[StageResult], confidence: f64) -> TextTable {
    let speedup = |time: &Option<RelativeTime>| time.as_ref().map(RelativeTime::speedup_text);
    TableColumns::titled("Measured here", stages)
        .left("", |stage| stage.row.name.clone())
        .right("loss", |stage| {
            let loss = |loss| number_or_not(loss, 2);
            format!("{} to {}", loss(stage.row.first_loss), loss(stage.row.final_loss))
        })
        .right("samples/s", |stage| number(stage.row.samples_per_s, 1))
        .right("step ms", |stage| number(stage.row.step_ms, 3))
        .right("forward", |stage| number(stage.row.phases.forward_ms, 3))
        .right("memory", |stage| stage.row.peak_bytes().map(human_bytes))
        .right("gradients", |stage| stage.row.gradients())
        .right("over the one before", |stage| speedup(&stage.relative_to_before))
        .right("over v1", |stage| speedup(&stage.row.relative_time))
        .note(format!(
            "times in ms; how many times faster, with {} intervals; stages 1 to 3 read their parts without waiting for the device",
            whole_percent(Share(confidence))
        ))
        .into()
}

fn workshop(stages: &[StageResult]) -> TextTable {
    let stated = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    TableColumns::titled("The workshop's figures to compare", stages)
        .left("", |stage| stage.row.name.clone())
        .right("loss: workshop", |stage| stated(&stage.workshop.loss))
        .right("here", |stage| number(stage.row.first_loss, 1))
        .right("samples/s: workshop", |stage| {
            stated(&stage.workshop.samples_per_s)
        })
        .right("here", |stage| number(stage.row.samples_per_s, 1))
        .right("over v1: workshop", |stage| stated(&stage.workshop.to_v1))
        .right("here", |stage| {
            let time = stage.row.relative_time.as_ref();
            time.map_or("1x".into(), |time| times(1.0 / time.ratio))
        })
        .left("what is wrong", |stage| stage.issue.to_string())
        .notes(&WORKSHOP_NOTES)
        .into()
}
