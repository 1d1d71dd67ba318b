//! `calibrate`: measures this device's peak rates once and stores them for lessons, rooflines and predictions.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::analysis::{Analysis, AnalysisPage, AnalysisResult};
use super::exit::AlreadyReported;
use tinyllama_analysis::calibration::{Calibration, VERSION};
use tinyllama_analysis::gpus::{self, DataSheet};
use tinyllama_base::clock::unix_time;
use tinyllama_base::{NOT_REPORTED, errln};
use tinyllama_contract::flags::UsageError;
use tinyllama_engine::device::{BackendChoice, ceilings};
use tinyllama_runs::{Launcher, NotStarted, RunExit, folder};

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor calibrate
      measure the device that `run` would use
  tinyllama-tutor calibrate --show
      what was measured earlier")]
pub struct CalibrateArgs {
    /// Backend to measure: auto, rocm, cuda, vulkan or cpu
    #[arg(long, value_name = "BACKEND")]
    backend: Option<String>,
    /// Device of the backend
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Launcher for the measurement: local, slurm, or a command to put before the program, such as "srun --gres=gpu:1"
    #[arg(long, value_name = "WHERE", env = "TINYLLAMA_LAUNCHER", value_parser = Launcher::check_flag)]
    launcher: Option<String>,
    /// Show the stored measurements of every device
    #[arg(long)]
    show: bool,
    /// Measure in this process and print the result as JSON
    #[arg(long, hide = true)]
    measure: bool,
}

/// One entry of the list that `--json` prints: a calibration with the vendor's figures.
#[derive(Serialize)]
struct CalibrationEntry {
    calibration: Calibration,
    /// Null if the table does not list the device.
    data_sheet: Option<DataSheet>,
}

impl Analysis for CalibrateArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let mut page = AnalysisPage::default();
        if self.measure {
            let measured = self.measure_here()?;
            page.line(serde_json::to_string(&measured)?);
            return AnalysisResult::new(&measured, page);
        }
        let root = folder::state_folder()?;
        let calibrations = match self.show {
            true => kept(&root)?,
            false => vec![self.measured(&root)?],
        };
        if calibrations.is_empty() {
            page.line("No device was calibrated yet: run `tinyllama-tutor calibrate`.");
        }
        let beside_sheet = |calibration: Calibration| CalibrationEntry {
            data_sheet: gpus::find(&calibration.facts.device),
            calibration,
        };
        let all: Vec<CalibrationEntry> = calibrations.into_iter().map(beside_sheet).collect();
        all.iter().for_each(|kept| kept.show(&mut page));
        if let ([kept], false) = (&all[..], self.show) {
            let facts = &kept.calibration.facts;
            let path = Calibration::path(&root, &facts.backend, &facts.device);
            page.line(format_args!("kept in {}", path.display()));
        }
        AnalysisResult::new(&all, page)
    }
}

/// The stored measurements.
fn kept(root: &Path) -> Result<Vec<Calibration>> {
    let (calibrations, damaged) = Calibration::load_all(root)?;
    for problem in damaged {
        errln!("warning: {problem}");
    }
    Ok(calibrations)
}

impl CalibrateArgs {
    /// Opens the device that the arguments select and measures it.
    fn measure_here(&self) -> Result<Calibration> {
        let backend = match &self.backend {
            None => BackendChoice::Auto,
            Some(name) => BackendChoice::from_str(name, true).map_err(|_| {
                let known = "auto, rocm, cuda, vulkan or cpu";
                UsageError(format!("--backend {name}: use {known}"))
            })?,
        };
        let mut progress = |what: &str| errln!("  {what}");
        let reached = ceilings::measure(backend, self.device.as_deref(), &mut progress)?;
        Ok(Calibration {
            version: VERSION,
            measured: unix_time().as_secs(),
            program: env!("CARGO_PKG_VERSION").into(),
            reached,
        })
    }

    /// Measures in a child process and stores the result. A driver that crashes under full load ends only the child.
    fn measured(&self, root: &Path) -> Result<Calibration> {
        folder::check_writable(root)?;
        errln!(
            "measuring; this takes up to a minute, or longer the first time, when kernels are compiled and tuned"
        );
        let launcher = Launcher::from_settings(self.launcher.as_deref(), None)?;
        let mut command = launcher.child(["calibrate", "--measure"]);
        let flags = [("--backend", &self.backend), ("--device", &self.device)];
        for (flag, value) in flags {
            command.args(value.as_ref().map(|value| format!("{flag}={value}")));
        }
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.map_err(NotStarted::from_program(command.get_program()))?;
        if !output.status.success() {
            bail!(AlreadyReported(RunExit::from(output.status).into()));
        }
        // A launcher or a driver may print additional lines.
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines();
        let found = lines.find_map(|line| serde_json::from_str(line).ok());
        let calibration: Calibration = found
            .with_context(|| format!("the measuring process printed no calibration:\n{text}"))?;
        calibration.save(root)?;
        Ok(calibration)
    }
}

impl CalibrationEntry {
    fn show(&self, page: &mut AnalysisPage) {
        let facts = &self.calibration.facts;
        let (device, backend) = (&facts.device, &facts.backend);
        let driver = facts.driver.as_deref().unwrap_or(NOT_REPORTED);
        page.line(format_args!(
            "{device} ({backend}, driver {driver}), measured"
        ));
        for line in self.calibration.summary() {
            page.line(format_args!("  {line}"));
        }
        for warning in self.calibration.warnings() {
            page.line(format_args!("  warning: {warning}"));
        }
        let Some(sheet) = &self.data_sheet else {
            return page.line("  data sheet: this device is not in the table");
        };
        let name = &sheet.name;
        page.line(format_args!(
            "data sheet of {name}, which no program reaches"
        ));
        let peaks = [
            ("f32 vector", sheet.fp32),
            ("tf32 matrix", sheet.tf32),
            ("f16 matrix", sheet.fp16),
            ("bf16 matrix", sheet.bf16),
        ];
        for (name, peak) in peaks {
            if let Some(peak) = peak {
                page.line(format_args!("  {name}: {peak:.1} TFLOP/s"));
            }
        }
        page.line(format_args!("  memory: {:.0} GB/s", sheet.bandwidth));
        page.line(format_args!("  from: {}", sheet.sources.join("; ")));
    }
}
