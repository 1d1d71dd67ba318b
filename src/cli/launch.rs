//! `launch`: the processes that a launcher consists of. Nobody types these; the program starts itself so.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::Exit;
use tinyllama_course::run::Launcher;
use tinyllama_course::run::launcher::{array, far, keeper, near};

#[derive(Debug, Subcommand)]
pub enum End {
    /// Goes to where the run is made, and hands its stream on
    Near(NearArgs),
    /// Starts the run there, and keeps its stream
    Far(far::Far),
    /// Waits for a task of a job array, and hands its stream on
    Wait(WaitArgs),
    /// Starts the piece of a job array whose turn it is
    Piece { folder: PathBuf },
    /// Goes on with a stream whose connection broke
    Follow {
        stream: PathBuf,
        #[arg(long)]
        from: u64,
    },
    /// Keeps an allocation until the standard input ends
    Keep(KeepArgs),
}

#[derive(Debug, Args)]
pub struct NearArgs {
    #[arg(long)]
    launcher: String,
    /// Where the session keeps its allocation
    #[arg(long)]
    allocation: Option<PathBuf>,
    #[arg(last = true, required = true)]
    words: Vec<OsString>,
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
            let launcher = Launcher::choose(Some(&args.launcher), None)?;
            let status = near::carry(&launcher, args.allocation.clone(), &args.words)?;
            return Ok(Exit::OfAnother(status));
        }
        End::Wait(args) => {
            let launcher = Launcher::choose(Some(&args.launcher), None)?;
            let status = near::wait(&launcher, args.job.clone(), &args.stream)?;
            return Ok(Exit::OfAnother(status));
        }
        End::Piece { folder } => array::piece(folder)?,
        End::Far(far) => far.run()?,
        End::Follow { stream, from } => far::follow(stream, *from)?,
        End::Keep(args) => keeper::keep(&args.folder, args.idle_minutes)?,
    }
    Ok(Exit::Ok)
}
