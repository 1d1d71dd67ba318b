//! `stages`: the whole debugging scenario, one stage after the other, and what it shows on this device.

mod files;
mod tables;

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::{Console, MeasureFlags, RunFlags, SizeFlags, finish, print_json};
use crate::analysis::comparison::{Comparison, Made, Side, compare};
use crate::analysis::stages::{BASELINE, Findings, STAGES, StageRow, rows};
use crate::analysis::turns::{Turn, run_one, take_turns_without};
use crate::analysis::{MeasuredRun, Runner, Stop, Variant};
use crate::profiler::commands::{Tool, installed};
use crate::run::folder;

/// Steps of the profile pass of `--profile`.
const PROFILED_STEPS: usize = 3;

#[derive(Debug, Args)]
pub struct StagesArgs {
    #[command(flatten)]
    measure: MeasureFlags,
    /// Also time every kernel of each stage, and trace it with rocprofv3 where that is installed
    #[arg(long)]
    profile: bool,
    /// Folder for stageN.log and the events; a new one below the state folder if not given
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
        failed.push((
            target,
            crate::analysis::RunFailure::Failed(failure).to_string(),
        ));
        Ok(())
    })?;
    let runs: Vec<(String, Vec<MeasuredRun>)> = variants
        .iter()
        .map(|variant| variant.target.clone())
        .zip(runs)
        .collect();
    files::keep(&out, &runs)?;
    let profiled = if args.profile {
        profile(args, &runner, &variants, &failed, &out, &mut console)?
    } else {
        vec![]
    };
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
        tables::kernels(&mut stdout, &profiled)?;
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
    let mut flags = vec!["--repeatability=off".into()];
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

/// Kernel tables from a run of their own for each stage, and rocprofv3's traces where it is installed.
fn profile(
    args: &StagesArgs,
    runner: &Runner,
    variants: &[Variant],
    failed: &[(String, String)],
    out: &std::path::Path,
    console: &mut Console,
) -> Result<Vec<(String, MeasuredRun)>> {
    let rocprofv3 = installed::find(Tool::RocprofV3).is_some();
    let more = [
        format!("--profile-steps={PROFILED_STEPS}").into(),
        "--flops".into(),
    ];
    let mut profiled = Vec::new();
    let sound: Vec<&Variant> = variants
        .iter()
        .filter(|variant| !failed.iter().any(|(target, _)| *target == variant.target))
        .collect();
    for (at, variant) in sound.iter().enumerate() {
        let turn = Turn {
            run: at + 1,
            of: sound.len(),
            name: &format!("{}, kernels timed", variant.name),
        };
        profiled.push((
            variant.target.clone(),
            run_one(runner, variant, &more, turn, console)?,
        ));
        if rocprofv3 {
            console.say(&format!("{}: tracing with rocprofv3", variant.name));
            trace(
                args,
                runner,
                variant,
                &out.join(format!("{}-rocprofv3", variant.target)),
                console,
            )?;
        }
    }
    Ok(profiled)
}

fn trace(
    args: &StagesArgs,
    runner: &Runner,
    variant: &Variant,
    folder: &std::path::Path,
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
