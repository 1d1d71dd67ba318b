//! `launch`: the processes that a launcher consists of. Nobody types these; the program starts itself so.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::Exit;
use crate::run::Launcher;
use crate::run::launcher::{array, far, keeper, near};

#[derive(Debug, Args)]
pub struct LaunchArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Goes to where the run is made, and hands its stream on
    Near {
        #[arg(long)]
        launcher: String,
        /// Where the session keeps its allocation
        #[arg(long)]
        allocation: Option<PathBuf>,
        #[arg(last = true, required = true)]
        words: Vec<OsString>,
    },
    /// Starts the run there, and keeps its stream
    Far(far::Far),
    /// Waits for a task of a job array, and hands its stream on
    Wait {
        #[arg(long)]
        launcher: String,
        #[arg(long)]
        job: String,
        stream: PathBuf,
    },
    /// Starts the piece of a job array whose turn it is
    Piece { folder: PathBuf },
    /// Goes on with a stream whose connection broke
    Follow {
        stream: PathBuf,
        #[arg(long)]
        from: u64,
    },
    /// Keeps an allocation until the standard input ends
    Keep {
        folder: PathBuf,
        #[arg(long)]
        idle_minutes: u32,
    },
}

pub fn run(args: LaunchArgs) -> Result<ExitCode> {
    match args.end {
        End::Near {
            launcher,
            allocation,
            words,
        } => {
            let launcher = Launcher::choose(Some(&launcher), None)?;
            let status = near::carry(&launcher, allocation, &words)?;
            return Ok(code(status));
        }
        End::Wait {
            launcher,
            job,
            stream,
        } => {
            let launcher = Launcher::choose(Some(&launcher), None)?;
            return Ok(code(near::wait(&launcher, job, &stream)?));
        }
        End::Piece { folder } => array::piece(&folder)?,
        End::Far(far) => far.run()?,
        End::Follow { stream, from } => far::follow(&stream, from)?,
        End::Keep {
            folder,
            idle_minutes,
        } => keeper::keep(&folder, idle_minutes)?,
    }
    Ok(Exit::Ok.into())
}

fn code(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX))
}
