//! `stages`: the whole debugging scenario, one stage after the other, and what it shows on this device.

mod files;
mod tables;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::{Console, MeasureFlags, RunFlags, SizeFlags, finish, print_json};
use crate::analysis::comparison::{Comparison, Made, Side, compare};
use crate::analysis::stages::{BASELINE, Findings, STAGES, StageRow, rows};
use crate::analysis::turns::take_turns_without;
use crate::analysis::{MeasuredRun, RunFailure, Runner, Stop, Variant};
use crate::profiler::commands::{Tool, installed};
use crate::run::folder;

/// Steps whose kernels are timed, after those that count: what is strided is judged by the kernel that reads it.
const PROFILED_STEPS: usize = 2;

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor stages --config small
      all six beside v1, and what shows on this device
  tinyllama-tutor stages --profile --out stages
      with kernel tables, logs and traces in a folder")]
pub struct StagesArgs {
    #[command(flatten)]
    measure: MeasureFlags,
    /// Also show the longest kernels of each stage, and trace each with rocprofv3 where that is installed
    #[arg(long)]
    profile: bool,
    /// Folder for stageN.log, the events and the traces [default: a new one below the state folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeFlags,
    #[command(flatten)]
    flags: RunFlags,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    stages: &'a [StageRow],
    findings: &'a Findings,
    warnings: &'a [String],
    /// Stages that did not run, and why.
    failed: &'a [(String, String)],
    folder: &'a PathBuf,
    kept: &'a PathBuf,
}

pub fn run(args: &StagesArgs) -> Result<Exit> {
    finish(stages(args))
}

fn stages(args: &StagesArgs) -> Result<Exit> {
    let (rounds, confidence) = args.measure.checked()?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let root = folder::state_folder()?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => root.join("stages").join(now.to_string()),
    };
    folder::check_writable(&out)?;
    let variants = variants(args);
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let mut failed: Vec<(String, String)> = Vec::new();
    let runs = take_turns_without(&runner, &variants, rounds, &mut console, |failure| {
        let target = failure.variant.clone();
        failed.push((target, RunFailure::Failed(failure).to_string()));
        Ok(())
    })?;
    let runs: Vec<(String, Vec<MeasuredRun>)> = variants
        .iter()
        .map(|variant| variant.target.clone())
        .zip(runs)
        .collect();
    files::keep(&out, &runs)?;
    if args.profile {
        trace_all(args, &runner, &variants, &failed, &out, &console)?;
    }
    drop(console);
    let comparison = compared(&runs, confidence);
    let Some(findings) = Findings::of(&runs, confidence, now) else {
        for (target, why) in &failed {
            eprintln!("error: {target}: {why}");
        }
        return Ok(Exit::Failed);
    };
    let kept = findings.save(&root)?;
    let rows = rows(&comparison, &runs, confidence);
    if args.json {
        print_json(&Document {
            stages: &rows,
            findings: &findings,
            warnings: &comparison.warnings,
            failed: &failed,
            folder: &out,
            kept: &kept,
        })?;
    } else {
        let mut stdout = io::stdout().lock();
        tables::print(&mut stdout, &comparison, &rows, &findings, &failed)?;
        if args.profile {
            tables::kernels(&mut stdout, &runs)?;
        }
        tables::where_kept(&mut stdout, &out, &kept)?;
    }
    Ok(if failed.is_empty() {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

/// The baseline and every stage with the same flags. What a stage waits for is part of the stage, so nothing is said of it.
fn variants(args: &StagesArgs) -> Vec<Variant> {
    let mut flags = vec![
        "--repeatability=off".into(),
        format!("--profile-steps={PROFILED_STEPS}").into(),
    ];
    flags.extend(args.flags.words());
    flags.extend(args.size.words());
    std::iter::once(&BASELINE)
        .chain(&STAGES)
        .map(|stage| Variant {
            name: stage.target.into(),
            target: stage.target.into(),
            flags: flags.clone(),
        })
        .collect()
}

fn compared(runs: &[(String, Vec<MeasuredRun>)], confidence: f64) -> Comparison {
    let sides: Vec<Side<'_>> = runs
        .iter()
        .map(|(target, runs)| Side {
            name: target.clone(),
            runs,
            phases: None,
        })
        .collect();
    compare(&sides, Made::InTurns, confidence)
}

/// rocprofv3's traces, where it is installed, of the stages that ran.
fn trace_all(
    args: &StagesArgs,
    runner: &Runner,
    variants: &[Variant],
    failed: &[(String, String)],
    out: &Path,
    console: &Console,
) -> Result<()> {
    if installed::find(Tool::RocprofV3).is_none() {
        console.say("rocprofv3 is not installed here: kernel tables only, no traces");
        return Ok(());
    }
    for variant in variants {
        if failed.iter().any(|(target, _)| *target == variant.target) {
            continue;
        }
        if let Some(signal) = runner.stop.signal() {
            return Err(RunFailure::Interrupted { signal }.into());
        }
        console.say(&format!("{}: tracing with rocprofv3", variant.name));
        let folder = out.join(format!("{}-rocprofv3", variant.target));
        trace(args, runner, variant, &folder, console)?;
    }
    Ok(())
}

fn trace(
    args: &StagesArgs,
    runner: &Runner,
    variant: &Variant,
    folder: &Path,
    console: &Console,
) -> Result<()> {
    let mut command = Command::new(&runner.program);
    command
        .args(["profile", "rocprofv3", &variant.target, "--out"])
        .arg(folder);
    if let Some(launcher) = &args.flags.launcher {
        command.arg("--launcher").arg(launcher);
    }
    let output = command
        .arg("--")
        .args(&variant.flags)
        .stdin(Stdio::null())
        .output()
        .context("cannot start the profiler")?;
    if !output.status.success() {
        console.say(&format!(
            "{}: rocprofv3 {}: {}",
            variant.name,
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(())
}
