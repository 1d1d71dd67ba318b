//! Measurements of all runs, by step.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use itertools::Itertools;
use serde_json::Value;

use crate::{RunEntry, SessionError, SessionState, Standing, StepRef};
use tinyllama_base::safe_path;
use tinyllama_contract::flags::USUAL_STEPS;
use tinyllama_lesson::case::fix_of;
use tinyllama_lesson::{CaseMove, CommandOutputs, Course, FIXED, Runs, Step, live};
use tinyllama_runs::{EVENTS_FILE, FinishedRun, FinishedRuns, Measurements, RunExit};

/// Most rounds for an undecided effect, and most repeats of a step that are compared.
pub const MOST_ROUNDS: usize = 12;

/// Path of the event stream of `run` below the session's `runs`.
pub fn events_file(runs: &Path, run: &str) -> PathBuf {
    runs.join(run).join(EVENTS_FILE)
}

/// The data in a run's files; `None` if the files are gone.
pub(super) fn known(
    runs: &FinishedRuns,
    run: &str,
) -> Result<Option<Arc<FinishedRun>>, SessionError> {
    let unreadable = |error: io::Error| SessionError::io("reading", &runs.folder.join(run))(error);
    runs.get(run).map_err(unreadable)
}

/// A larger document was not written by a command of this program.
const MOST_BYTES: u64 = 8 << 20;

/// Measurements of every run step of a course, and documents of every command step.
#[derive(Debug, Default)]
pub struct MeasuredRuns {
    runs: HashMap<StepRef, Repeats>,
    outputs: HashMap<StepRef, Value>,
    /// For each run of a case: the values that the measurements in the case's text had when that run ended.
    seen: HashMap<String, MeasuredRuns>,
}

/// Runs of one step under the same circumstances.
#[derive(Debug, Default)]
struct Repeats {
    /// Oldest first.
    runs: Vec<Arc<FinishedRun>>,
    /// Place and time of the recording; `None` for runs of this machine.
    recorded: Option<String>,
    /// Ids of the runs in the same order, each with its number in the session.
    ids: Vec<(usize, String)>,
    /// Number of counted steps of the shortest run, including runs under other circumstances.
    shortest: Option<usize>,
    /// Number of counted steps that the newest run was started with.
    asked: Option<usize>,
}

impl MeasuredRuns {
    /// Takes the newest finished run of each step, with the earlier ones of the same command on the same machine.
    /// A run whose files were removed counts as not run.
    pub fn read(
        course: &Course,
        state: &SessionState,
        runs: &FinishedRuns,
    ) -> Result<Self, SessionError> {
        let reader = MeasurementReader { state, runs };
        let mut measured = Self::default();
        for (lesson, step) in course.steps() {
            reader.read(&mut measured, &lesson.id, step, None)?;
            if let Some(case) = step.as_case() {
                let at = StepRef::new(&lesson.id, &step.id);
                for evidence in
                    Standing::from_progress(case, &state.progress(&at), state).evidence(case)
                {
                    let mut seen = Self::default();
                    for name in live::runs(&evidence.text, &lesson.id) {
                        let id = name.step.strip_suffix(FIXED).unwrap_or(&name.step);
                        if let Some(step) = course.step(&name.lesson, id) {
                            let last = state.runs.get(evidence.run).map(|run| run.number);
                            reader.read(&mut seen, &name.lesson, step, last)?;
                        }
                    }
                    measured.seen.insert(evidence.run.into(), seen);
                }
            }
        }
        Ok(measured)
    }

    /// Takes a document as what the command of this step wrote, without a run.
    pub fn with_output(at: StepRef, output: Value) -> Self {
        Self {
            outputs: HashMap::from([(at, output)]),
            ..Self::default()
        }
    }

    /// The measurements in the text of a case, with their values at the end of this run.
    pub fn seen(&self, run: &str) -> &Self {
        self.seen.get(run).unwrap_or(self)
    }

    /// Returns whether an earlier run was shorter than the newest one.
    pub fn is_longer(&self, name: &StepRef) -> bool {
        let repeats = self.runs.get(name);
        repeats
            .is_some_and(|repeats| repeats.shortest.is_some() && repeats.asked > repeats.shortest)
    }

    /// Number of counted steps that the newest run was started with.
    pub fn asked(&self, name: &StepRef) -> Option<usize> {
        self.runs.get(name)?.asked
    }

    /// The newest run that counts under a name.
    pub fn newest(&self, name: &StepRef) -> Option<&String> {
        let (_, id) = self.runs.get(name)?.ids.last()?;
        Some(id)
    }

    /// Number of that run in the session.
    pub fn newest_number(&self, name: &StepRef) -> Option<usize> {
        let (number, _) = self.runs.get(name)?.ids.last()?;
        Some(*number)
    }
}

/// The sources of measurements.
struct MeasurementReader<'a> {
    state: &'a SessionState,
    runs: &'a FinishedRuns,
}

impl MeasurementReader<'_> {
    /// Adds the runs of a step that started no later than the run of number `last`.
    fn read(
        &self,
        measured: &mut MeasuredRuns,
        lesson: &str,
        step: &Step,
        last: Option<usize>,
    ) -> Result<(), SessionError> {
        for (name, wanted) in names(lesson, step) {
            let finished = || {
                let finished = finished(self.state, lesson, &step.id, &wanted);
                finished.filter(|(_, run)| last.is_none_or(|last| run.number <= last))
            };
            let repeats = repeats(finished());
            let mut found = Repeats {
                shortest: finished()
                    .filter(|(_, run)| run.recording.is_none())
                    .map(|(_, run)| steps_asked(run))
                    .min(),
                asked: repeats.last().map(|(_, run)| steps_asked(run)),
                ..Repeats::default()
            };
            if let Some((id, newest)) = repeats.last() {
                found.recorded.clone_from(&newest.recording);
                if step.as_command().is_some()
                    && let Some(output) = output(&self.runs.folder.join(id))
                {
                    measured.outputs.insert(name.clone(), output);
                }
            }
            for (id, entry) in &repeats {
                if let Some(run) = known(self.runs, id)? {
                    found.runs.push(run);
                    found.ids.push((entry.number, (*id).clone()));
                }
            }
            measured.runs.insert(name, found);
        }
        Ok(())
    }
}

/// Selects the runs of a step that count under a name.
type RunFilter<'a> = Box<dyn Fn(&RunEntry) -> bool + 'a>;

/// The names for runs of a step. In an investigation, runs with a fix have a different name from the others.
fn names<'a>(lesson: &str, step: &'a Step) -> Vec<(StepRef, RunFilter<'a>)> {
    let name = |id: String| StepRef::new(lesson, id);
    let all: RunFilter = Box::new(|_| true);
    match step.as_case() {
        Some(case) => {
            let is_fixed = |run: &RunEntry| match case.move_of(&run.command) {
                Some(case_move) => matches!(case_move, CaseMove::Fix(_)),
                None => fix_of(&run.command).is_some(),
            };
            let guilty = case.guilty().map_or("", |suspect| suspect.fix.as_str());
            let of_guilty = move |run: &RunEntry| match case.move_of(&run.command) {
                Some(CaseMove::Fix(index)) => case.suspects[index].fix == guilty,
                _ => false,
            };
            vec![
                (name(step.id.clone()), Box::new(move |run| !is_fixed(run))),
                (name(format!("{}{FIXED}", step.id)), Box::new(of_guilty)),
            ]
        }
        None if step.job().is_some() => vec![(name(step.id.clone()), all)],
        None => Vec::new(),
    }
}

/// The document that a command wrote as its stream.
fn output(folder: &Path) -> Option<Value> {
    safe_path::read_json(&folder.join(EVENTS_FILE), MOST_BYTES).ok()
}

impl CommandOutputs for MeasuredRuns {
    fn document(&self, name: &StepRef) -> Option<&Value> {
        self.outputs.get(name)
    }
}

impl Runs for MeasuredRuns {
    fn measurements(&self, name: &StepRef) -> Vec<&Measurements> {
        let repeats = self.runs.get(name).into_iter();
        let runs = repeats.flat_map(|repeats| &repeats.runs);
        runs.map(|run| &run.measurements).collect()
    }

    fn rounds(&self, above: &StepRef, below: &StepRef) -> usize {
        let places = |name| {
            let repeats = self.runs.get(name).into_iter();
            repeats.flat_map(|repeats| repeats.ids.iter().rev().map(|(location, _)| *location))
        };
        in_turns(places(above), places(below))
    }

    fn shortest(&self, name: &StepRef) -> usize {
        let repeats = self.runs.get(name);
        repeats
            .and_then(|repeats| repeats.shortest)
            .unwrap_or(usize::MAX)
    }

    fn recorded(&self, name: &StepRef) -> Option<&str> {
        self.runs.get(name)?.recorded.as_deref()
    }
}

/// Counts pairs of neighbouring indices, newest first, up to the first pair that is apart. Another run between
/// the two runs of a round means that time has passed.
fn in_turns(a: impl Iterator<Item = usize>, b: impl Iterator<Item = usize>) -> usize {
    a.zip(b).take_while(|(a, b)| a.abs_diff(*b) == 1).count()
}

/// The finished runs of a step, newest first.
fn finished<'a>(
    state: &'a SessionState,
    lesson: &str,
    step: &str,
    wanted: &RunFilter,
) -> impl Iterator<Item = (&'a String, &'a RunEntry)> {
    let ids = state.step(lesson, step).map_or(&[][..], |step| &step.runs);
    ids.iter().rev().filter_map(move |id| {
        let run = state.runs.get(id)?;
        (run.exit == Some(RunExit::SUCCESS) && wanted(run)).then_some((id, run))
    })
}

/// Number of counted steps that a run was started with.
fn steps_asked(run: &RunEntry) -> usize {
    let mut args = run.flags().flat_map(|word| word.split('=')).tuple_windows();
    let number = args.find_map(|(flag, number)| (flag == "--num-steps").then_some(number));
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or(USUAL_STEPS)
}

/// Selects the runs with the same command as the newest. The input has the newest first, the result the oldest first.
fn repeats<'a>(
    finished: impl Iterator<Item = (&'a String, &'a RunEntry)>,
) -> Vec<(&'a String, &'a RunEntry)> {
    let circumstances = |run: &'a RunEntry| (&run.command, &run.host, &run.recording);
    let mut newest = None;
    let mut same: Vec<_> = finished
        .take_while(|(_, run)| *newest.get_or_insert(circumstances(run)) == circumstances(run))
        .take(MOST_ROUNDS)
        .collect();
    same.reverse();
    same
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::steps;

    #[test]
    fn a_round_makes_both_runs_as_long_as_the_longer_one_within_reason() {
        let [a, b] = ["a", "b"].map(|step| StepRef::parse(step, "here"));
        let repeats = |[asked, shortest]: [usize; 2]| Repeats {
            asked: Some(asked),
            shortest: Some(shortest),
            ..Repeats::default()
        };
        for (first, second, expected) in [
            ([51, 20], [20, 20], Some(51)),
            ([20, 20], [51, 20], Some(51)),
            ([51, 20], [51, 20], None),
            ([51, 20], [174, 20], Some(174)),
            ([5000, 20], [20, 20], Some(1000)),
        ] {
            let runs = [(a.clone(), repeats(first)), (b.clone(), repeats(second))];
            let measured = MeasuredRuns {
                runs: runs.into(),
                ..MeasuredRuns::default()
            };
            assert_eq!(steps(&measured, [&a, &b]), expected, "{first:?} {second:?}");
        }
    }

    #[test]
    fn rounds_are_pairs_between_which_nothing_else_ran() {
        for (a, b, rounds) in [
            (vec![1, 3, 5], vec![2, 4, 6], 3),
            (vec![2, 3, 6], vec![1, 4, 5], 3),
            // The first run of each was made in lessons far apart.
            (vec![1, 7, 9], vec![6, 8, 10], 2),
            // Three of one, then three of the other.
            (vec![1, 2, 3], vec![4, 5, 6], 0),
            (vec![1, 2, 3, 5], vec![4, 6], 2),
            (vec![1], vec![], 0),
        ] {
            let found = in_turns(a.iter().copied().rev(), b.iter().copied().rev());
            assert_eq!(found, rounds, "{a:?} {b:?}");
        }
    }
}
