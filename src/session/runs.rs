//! Measurements of the runs a learner started, by step.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::SessionError;
use super::state::{Run, State};
use crate::lesson::{Course, RunName, Runs, StepKind};
use crate::run::finished::EVENTS;
use crate::run::{FinishedRun, FinishedRuns, Measurements, RunExit};

/// Repeats of a command that are compared with each other; older ones are left aside.
const MOST_REPEATS: usize = 12;

/// Where a run's event stream is kept, below the session's `runs`.
pub fn events_file(runs: &Path, run: &str) -> PathBuf {
    runs.join(run).join(EVENTS)
}

/// What a run's files say; none where they are gone.
pub(super) fn known(
    runs: &FinishedRuns,
    run: &str,
) -> Result<Option<Arc<FinishedRun>>, SessionError> {
    let unreadable =
        |error: io::Error| SessionError::io("reading", &runs.folder().join(run))(error);
    runs.get(run).map_err(unreadable)
}

/// Measurements of every run step of a course.
#[derive(Debug, Default)]
pub struct MeasuredRuns(HashMap<RunName, Repeats>);

/// Runs of one step under the same circumstances.
#[derive(Debug, Default)]
struct Repeats {
    /// Oldest first.
    runs: Vec<Arc<FinishedRun>>,
    /// Where and when they were recorded; none where they were made here.
    recorded: Option<String>,
}

impl MeasuredRuns {
    /// Of each step the newest finished run counts, with the earlier ones that had the same command on the same machine.
    /// A run whose files were removed counts as not run.
    pub fn read(course: &Course, state: &State, runs: &FinishedRuns) -> Result<Self, SessionError> {
        let mut measured = HashMap::new();
        for lesson in course.lessons() {
            let steps = lesson.steps.iter();
            for step in steps.filter(|step| matches!(step.kind, StepKind::Run { .. })) {
                let repeats = repeats(state, &lesson.id, &step.id);
                let newest = repeats.last();
                let recorded = newest.and_then(|(_, run)| run.recording.clone());
                let runs = repeats
                    .iter()
                    .filter_map(|(id, _)| known(runs, id).transpose())
                    .collect::<Result<_, _>>()?;
                let name = RunName {
                    lesson: lesson.id.clone(),
                    step: step.id.clone(),
                };
                measured.insert(name, Repeats { runs, recorded });
            }
        }
        Ok(Self(measured))
    }
}

impl Runs for MeasuredRuns {
    fn of(&self, name: &RunName) -> Vec<&Measurements> {
        let repeats = self.0.get(name).into_iter();
        let runs = repeats.flat_map(|repeats| &repeats.runs);
        runs.map(|run| &run.measurements).collect()
    }

    fn recorded(&self, name: &RunName) -> Option<&str> {
        self.0.get(name)?.recorded.as_deref()
    }
}

/// The finished runs of a step with the newest one's command, oldest first.
fn repeats<'a>(state: &'a State, lesson: &str, step: &str) -> Vec<(&'a str, &'a Run)> {
    let ids = state.step(lesson, step).map_or(&[][..], |step| &step.runs);
    let finished = ids.iter().rev().filter_map(|id| {
        let run = state.runs.get(id)?;
        (run.exit == Some(RunExit::SUCCESS)).then_some((id.as_str(), run))
    });
    let circumstances = |run: &'a Run| (&run.command, &run.host, &run.recording);
    let mut newest = None;
    let mut same: Vec<_> = finished
        .take_while(|(_, run)| *newest.get_or_insert(circumstances(run)) == circumstances(run))
        .take(MOST_REPEATS)
        .collect();
    same.reverse();
    same
}
