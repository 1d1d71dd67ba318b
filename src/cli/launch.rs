//! `launch`: the processes behind `--launcher slurm`. The program starts them; users do not.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::Exit;
use tinyllama_contract::bounds;
use tinyllama_runs::Launcher;
use tinyllama_runs::launcher::{keeper, step};

#[derive(Debug, Subcommand)]
pub enum LaunchCommand {
    /// Makes a run as a step of an allocation and forwards its stream
    Step(StepArgs),
    /// Keeps an allocation until standard input ends
    Keep(KeepArgs),
}

#[derive(Debug, Args)]
pub struct StepArgs {
    #[arg(long)]
    launcher: String,
    /// Folder in which the session stores its allocation
    #[arg(long)]
    allocation: Option<PathBuf>,
    #[arg(last = true, required = true)]
    args: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct KeepArgs {
    folder: PathBuf,
    #[arg(long, value_parser = bounds::IDLE_MINUTES)]
    idle_minutes: u32,
}

pub fn run(command: &LaunchCommand) -> Result<Exit> {
    match command {
        LaunchCommand::Step(args) => {
            let launcher = Launcher::from_settings(Some(&args.launcher), None)?;
            let status = step::run_step(&launcher, args.allocation.clone(), &args.args)?;
            Ok(Exit::OfAnother(status))
        }
        LaunchCommand::Keep(args) => {
            keeper::keep_allocation(&args.folder, args.idle_minutes)?;
            Ok(Exit::Ok)
        }
    }
}
