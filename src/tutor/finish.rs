//! A finished run becomes part of the session.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use crate::analysis::Measurements;
use crate::run::folder::RunFolder;
use crate::session::event::{RunExit, StepRef};
use crate::session::runs::{energy_figures, events_file, figures};
use crate::session::{Session, SessionError};

/// Notes how `run` ended, with the figures its event stream reports and the energy measured beside it.
pub fn finish_run(session: &mut Session, run: &str, exit: RunExit) -> Result<(), SessionError> {
    let path = events_file(&session.place.runs(), run);
    let measurements = File::open(path)
        .and_then(|file| Measurements::read(BufReader::new(file)))
        .unwrap_or_default();
    let mut values = figures(&measurements);
    values.extend(energy_figures(&session.place.runs(), run));
    session.finish_run(run, exit, values)
}

/// Notes a profile that was made or imported for a step: it counts as a run, with a folder that says where it came from.
pub fn note_profile(
    session: &mut Session,
    at: StepRef,
    target: &str,
    command: Vec<String>,
) -> Result<(), SessionError> {
    let not_kept = |error: anyhow::Error| SessionError::NoPlace {
        why: format!("{error:#}"),
    };
    let mut folder = RunFolder::create(&session.place.folder, command.clone()).map_err(not_kept)?;
    folder.record.exit = Some("exit status: 0".into());
    folder.save().map_err(not_kept)?;
    let run = folder.id();
    session.start_run(&run, Some(at), target, command)?;
    session.finish_run(&run, RunExit::Status(0), BTreeMap::new())
}
