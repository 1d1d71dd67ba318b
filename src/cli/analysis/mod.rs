//! What the commands that compare runs share: their flags, progress, and how they end.

mod entry;
mod flags;
pub mod junit;
mod progress;
mod text;

use anyhow::Result;

pub use entry::{Entry, kept_run};
pub use flags::{MeasureFlags, RunFlags, SizeFlags, timed};
pub use progress::Console;
pub use text::{bar, print_json, print_table, width, workshop_table};

use super::Exit;
use crate::analysis::{MeasuredRun, RunFailure};
use crate::train::event::FailureCode;

/// Where the files of runs are.
pub fn paths(runs: &[Vec<MeasuredRun>]) -> Vec<String> {
    runs.iter()
        .flatten()
        .map(|run| run.path.display().to_string())
        .collect()
}

/// Turns the failure of a run into the status it ended with; other errors are the caller's.
pub fn finish(result: Result<Exit>) -> Result<Exit> {
    let error = match result {
        Ok(exit) => return Ok(exit),
        Err(error) => error,
    };
    match error.downcast_ref::<RunFailure>() {
        Some(RunFailure::Interrupted { signal }) => {
            eprintln!("{error}");
            Ok(Exit::Signal(*signal))
        }
        Some(RunFailure::Failed(failed)) => {
            eprintln!("error: {error}");
            Ok(match failed.code() {
                Some(FailureCode::Usage) => Exit::Usage,
                Some(FailureCode::Environment) => Exit::Environment,
                _ => Exit::Failed,
            })
        }
        _ => Err(error),
    }
}
