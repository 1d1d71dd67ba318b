//! `launch`: the processes behind a launcher. The program starts them; users do not.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::Exit;
use tinyllama_runs::Launcher;
use tinyllama_runs::launcher::{array, keeper, local_end, remote_end};

#[derive(Debug, Subcommand)]
pub enum End {
    /// Connects to the machine of the run and forwards the run's stream
    Near(NearArgs),
    /// Starts the run on its machine and stores its stream
    Far(remote_end::RemoteEnd),
    /// Waits for a task of a job array and forwards its stream
    Wait(WaitArgs),
    /// Starts the next piece of a job array
    Piece { folder: PathBuf },
    /// Continues a stream after a broken connection
    Follow {
        stream: PathBuf,
        #[arg(long)]
        from: u64,
    },
    /// Keeps an allocation until standard input ends
    Keep(KeepArgs),
}

#[derive(Debug, Args)]
pub struct NearArgs {
    #[arg(long)]
    launcher: String,
    /// File in which the session stores its allocation
    #[arg(long)]
    allocation: Option<PathBuf>,
    #[arg(last = true, required = true)]
    args: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct WaitArgs {
    #[arg(long)]
    launcher: String,
    #[arg(long)]
    job: String,
    stream: PathBuf,
}

#[derive(Debug, Args)]
pub struct KeepArgs {
    folder: PathBuf,
    #[arg(long)]
    idle_minutes: u32,
}

pub fn run(end: &End) -> Result<Exit> {
    match end {
        End::Near(args) => {
            let launcher = Launcher::from_settings(Some(&args.launcher), None)?;
            let status = local_end::run_remotely(&launcher, args.allocation.clone(), &args.args)?;
            return Ok(Exit::OfAnother(status));
        }
        End::Wait(args) => {
            let launcher = Launcher::from_settings(Some(&args.launcher), None)?;
            let status = local_end::wait(&launcher, args.job.clone(), &args.stream)?;
            return Ok(Exit::OfAnother(status));
        }
        End::Piece { folder } => array::run_piece(folder)?,
        End::Far(far) => far.run()?,
        End::Follow { stream, from } => remote_end::follow(stream, *from)?,
        End::Keep(args) => keeper::keep_allocation(&args.folder, args.idle_minutes)?,
    }
    Ok(Exit::Ok)
}
