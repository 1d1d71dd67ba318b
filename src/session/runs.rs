//! Measurements of the runs a learner started, by step.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use super::error::SessionError;
use super::event::RunExit;
use super::state::State;
use crate::analysis::metric::Statistic;
use crate::analysis::{Measurements, Metric};
use crate::lesson::{Course, RunName, Runs, StepKind};
use crate::run::folder::RunFolder;

/// Repeats of a command that are compared with each other; older ones are left aside.
const MOST_REPEATS: usize = 12;

/// Where a run's event stream is kept, below the session's `runs`.
pub fn events_file(runs: &Path, run: &str) -> PathBuf {
    runs.join(run).join("events.jsonl")
}

/// Every figure a run reported, by metric name, as its end is recorded.
pub fn figures(measurements: &Measurements) -> BTreeMap<String, f64> {
    Metric::ALL
        .into_iter()
        .filter_map(|metric| {
            let value = measurements.value(metric, Statistic::Median)?;
            Some((metric.name().to_string(), value))
        })
        .collect()
}

/// The figures of a run's energy, joules; the uncertainty is half the 95 % interval.
pub const ENERGY: [&str; 4] = [
    "joules_per_step",
    "joules_per_step_uncertainty",
    "joules_per_sample",
    "joules_per_sample_uncertainty",
];

/// What the keeper of a run measured beside it, under the names of [`ENERGY`]; empty where nothing was.
pub fn energy_figures(runs: &Path, run: &str) -> BTreeMap<String, f64> {
    let energy = RunFolder::read_record(&runs.join(run)).and_then(|record| record.energy);
    let figures = energy.and_then(|energy| {
        let (step, sample) = (energy.per_step()?, energy.per_sample()?);
        Some([
            step.joules,
            step.uncertainty,
            sample.joules,
            sample.uncertainty,
        ])
    });
    let names = ENERGY.map(str::to_string).into_iter();
    names.zip(figures.into_iter().flatten()).collect()
}

/// Measurements of every run step of a course, read from the session's files.
#[derive(Debug, Default)]
pub struct MeasuredRuns(HashMap<RunName, Repeats>);

/// Runs of one step under the same circumstances.
#[derive(Debug, Default)]
struct Repeats {
    /// Oldest first.
    runs: Vec<Measurements>,
    /// Where and when they were recorded; none where they were made here.
    recorded: Option<String>,
}

impl MeasuredRuns {
    /// Of each step the newest finished run counts, with the earlier ones that had the same command on the same machine.
    /// A run whose files were removed counts as not run.
    pub fn read(course: &Course, state: &State, runs: &Path) -> Result<Self, SessionError> {
        let mut measured = HashMap::new();
        for lesson in course.lessons() {
            for step in lesson
                .steps
                .iter()
                .filter(|step| matches!(step.kind, StepKind::Run { .. }))
            {
                let name = RunName {
                    lesson: lesson.id.clone(),
                    step: step.id.clone(),
                };
                let ids = repeats(state, &name);
                let newest = ids.last().and_then(|id| state.runs.get(*id));
                let recorded = newest.and_then(|run| run.recording.clone());
                let repeats = ids
                    .into_iter()
                    .filter_map(|run| read(runs, run).transpose());
                let runs = repeats.collect::<Result<Vec<_>, _>>()?;
                measured.insert(name, Repeats { runs, recorded });
            }
        }
        Ok(Self(measured))
    }
}

impl Runs for MeasuredRuns {
    fn of(&self, name: &RunName) -> &[Measurements] {
        self.0.get(name).map_or(&[], |repeats| &repeats.runs)
    }

    fn recorded(&self, name: &RunName) -> Option<&str> {
        self.0.get(name)?.recorded.as_deref()
    }
}

/// The finished runs of a step with the newest one's command, oldest first.
fn repeats<'a>(state: &'a State, name: &RunName) -> Vec<&'a str> {
    let Some(step) = state.step(&name.lesson, &name.step) else {
        return Vec::new();
    };
    let finished = |id: &&String| {
        state
            .runs
            .get(*id)
            .is_some_and(|run| run.exit == Some(RunExit::Status(0)))
    };
    let finished: Vec<&String> = step.runs.iter().filter(finished).collect();
    let circumstances = |id: &String| {
        let run = state.runs.get(id)?;
        Some((&run.command, &run.host, &run.recording))
    };
    let newest = finished.last().and_then(|id| circumstances(id));
    let mut same: Vec<&str> = finished
        .iter()
        .rev()
        .take_while(|id| circumstances(id) == newest)
        .take(MOST_REPEATS)
        .map(|id| id.as_str())
        .collect();
    same.reverse();
    same
}

fn read(runs: &Path, run: &str) -> Result<Option<Measurements>, SessionError> {
    let path = events_file(runs, run);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(SessionError::io("opening", &path)(error)),
    };
    Measurements::read(BufReader::new(file))
        .map(Some)
        .map_err(SessionError::io("reading", &path))
}
