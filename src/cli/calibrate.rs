//! `calibrate`: measures once what this device reaches, and keeps it for lessons, rooflines and predictions.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::print_json;
use super::training_args::UsageError;
use crate::analysis::calibration::Calibration;
use crate::analysis::gpus::{self, DataSheet};
use crate::run::folder;

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor calibrate
      measure the device that `run` would take
  tinyllama-tutor calibrate --show
      what was measured earlier")]
pub struct CalibrateArgs {
    /// auto, rocm, cuda, vulkan or cpu
    #[arg(long, value_name = "BACKEND")]
    pub backend: Option<String>,
    /// Which device of the backend
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Words to put before the measuring process, such as "srun --gres=gpu:1"
    #[arg(long, value_name = "WORDS", env = "TINYLLAMA_LAUNCHER")]
    pub launcher: Option<String>,
    /// Show what was measured earlier, of every device
    #[arg(long)]
    pub show: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Measure in this very process and print the result as JSON
    #[arg(long, hide = true)]
    pub measure: bool,
}

/// A calibration beside what the maker prints.
#[derive(Serialize)]
struct Shown<'a> {
    calibration: &'a Calibration,
    /// Null for a device that is not in the table.
    data_sheet: Option<DataSheet>,
}

/// Runs the command; `measure` is what the child process does: it opens the device and returns what it reached.
pub fn run(
    args: &CalibrateArgs,
    measure: impl FnOnce(&CalibrateArgs) -> Result<Calibration>,
) -> Result<Exit> {
    if args.measure {
        serde_json::to_writer(io::stdout().lock(), &measure(args)?)?;
        println!();
        return Ok(Exit::Ok);
    }
    let root = folder::state_folder()?;
    if args.show {
        return show_kept(args, &root);
    }
    folder::check_writable(&root)?;
    eprintln!(
        "measuring; this takes up to a minute, or longer the first time, when kernels are compiled and tuned"
    );
    let calibration = match in_a_child(args)? {
        Ok(calibration) => calibration,
        Err(exit) => return Ok(exit),
    };
    let path = calibration.save(&root)?;
    show(args, &[calibration])?;
    if !args.json {
        println!("kept in {}", path.display());
    }
    Ok(Exit::Ok)
}

fn show_kept(args: &CalibrateArgs, root: &std::path::Path) -> Result<Exit> {
    let (calibrations, damaged) = Calibration::load_all(root)?;
    for problem in damaged {
        eprintln!("warning: {problem}");
    }
    if calibrations.is_empty() && !args.json {
        println!("No device was calibrated yet: run `tinyllama-tutor calibrate`.");
    } else {
        show(args, &calibrations)?;
    }
    Ok(Exit::Ok)
}

/// A driver that crashes under full load takes only the child with it. The inner error is the status it ended with.
fn in_a_child(args: &CalibrateArgs) -> Result<Result<Calibration, Exit>> {
    let launcher = match &args.launcher {
        Some(words) => shlex::split(words).ok_or_else(|| {
            UsageError(format!(
                "--launcher {words}: a quotation mark is not closed"
            ))
        })?,
        None => vec![],
    };
    let program = std::env::current_exe().context("cannot find this program's own path")?;
    let mut words: Vec<std::ffi::OsString> = launcher.into_iter().map(Into::into).collect();
    words.extend([program.into(), "calibrate".into(), "--measure".into()]);
    let flags = [("--backend", &args.backend), ("--device", &args.device)];
    for (flag, value) in flags {
        words.extend(value.as_ref().map(|value| format!("{flag}={value}").into()));
    }
    let output = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", words[0].to_string_lossy()))?;
    if !output.status.success() {
        return Ok(Err(match output.status.code() {
            Some(2) => Exit::Usage,
            Some(3) => Exit::Environment,
            _ => Exit::Failed,
        }));
    }
    // A launcher or a driver may print lines of its own.
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(calibration) = text
        .lines()
        .find_map(|line| serde_json::from_str::<Calibration>(line).ok())
    else {
        bail!("the measuring process printed no calibration:\n{text}");
    };
    Ok(Ok(calibration))
}

fn show(args: &CalibrateArgs, calibrations: &[Calibration]) -> Result<()> {
    let shown: Vec<Shown<'_>> = calibrations
        .iter()
        .map(|calibration| Shown {
            calibration,
            data_sheet: gpus::find(&calibration.facts.device),
        })
        .collect();
    if args.json {
        return print_json(&shown);
    }
    let mut out = io::stdout().lock();
    for shown in &shown {
        print(&mut out, shown)?;
    }
    Ok(())
}

fn print(out: &mut impl Write, shown: &Shown<'_>) -> io::Result<()> {
    let facts = &shown.calibration.facts;
    writeln!(
        out,
        "{} ({}, driver {}), measured",
        facts.device,
        facts.backend,
        facts.driver.as_deref().unwrap_or("not reported")
    )?;
    for line in shown.calibration.summary() {
        writeln!(out, "  {line}")?;
    }
    let Some(sheet) = &shown.data_sheet else {
        return writeln!(out, "  data sheet: this device is not in the table");
    };
    writeln!(
        out,
        "data sheet of {}, which no program reaches",
        sheet.name
    )?;
    let peaks = [
        ("f32 vector", sheet.fp32),
        ("tf32 matrix", sheet.tf32),
        ("f16 matrix", sheet.fp16),
        ("bf16 matrix", sheet.bf16),
    ];
    for (name, peak) in peaks {
        if let Some(peak) = peak {
            writeln!(out, "  {name}: {peak:.1} TFLOP/s")?;
        }
    }
    writeln!(out, "  memory: {:.0} GB/s", sheet.bandwidth)?;
    writeln!(out, "  from: {}", sheet.sources.join("; "))
}
