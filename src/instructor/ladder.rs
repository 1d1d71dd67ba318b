//! The contest of a course: everybody's best correct run, the fastest first.

use serde::Serialize;

use super::class::{Class, ClassError};
use crate::lesson::{Course, StepKind};
use crate::session::State;
use crate::session::state::Run;

/// A loss that fell by less is not learning.
const LEARNS: f64 = 0.99;

/// A learner's best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rung {
    pub learner: String,
    pub samples_per_s: f64,
    pub step_ms: Option<f64>,
    /// Flags of the run.
    pub flags: String,
    /// Runs that came to their end.
    pub tries: usize,
}

/// # Errors
/// When the class folder may not be read any more.
pub fn ladder(class: &mut Class, course: &Course) -> Result<Vec<Rung>, ClassError> {
    let learners = class.learners()?;
    let mut rungs: Vec<Rung> = learners
        .iter()
        .filter_map(|learner| {
            let (state, _) = learner.state.as_ref().ok()?;
            best(&learner.place.learner, state, course)
        })
        .collect();
    rungs.sort_by(|a, b| b.samples_per_s.total_cmp(&a.samples_per_s));
    Ok(rungs)
}

fn best(learner: &str, state: &State, course: &Course) -> Option<Rung> {
    let contests = course
        .steps()
        .filter(|(_, step)| matches!(step.kind, StepKind::Run { contest: true, .. }));
    let runs = contests.flat_map(|(lesson, step)| {
        let progress = state.step(&lesson.id, &step.id);
        progress.map_or(&[][..], |progress| &progress.runs)
    });
    let correct: Vec<(f64, &Run)> = runs
        .filter_map(|id| state.runs.get(id))
        .filter(|run| is_correct(run))
        .filter_map(|run| Some((*run.values.get("samples_per_s")?, run)))
        .collect();
    let (samples_per_s, run) = correct.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let flags: Vec<&str> = run.flags().map(String::as_str).collect();
    Some(Rung {
        learner: learner.into(),
        samples_per_s: *samples_per_s,
        step_ms: run.values.get("total_ms").copied(),
        flags: flags.join(" ").replace(char::is_control, " "),
        tries: correct.len(),
    })
}

/// Made here, to its end, with every gradient, and it learned.
fn is_correct(run: &Run) -> bool {
    let value = |name: &str| run.values.get(name).copied();
    let fell = value("final_loss").zip(value("first_loss"));
    let gradients = value("parameters_with_gradient").zip(value("parameter_tensors"));
    run.recording.is_none()
        && run.exit.is_some_and(|exit| exit.is_success())
        && fell.is_some_and(|(last, first)| last <= LEARNS * first)
        && gradients.is_some_and(|(with, of)| with == of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::Source;
    use crate::session::event::{Event, RunExit, StepRef};
    use crate::session::{Place, Session};

    #[test]
    fn the_fastest_correct_run_of_everybody_counts_and_a_lie_does_not() {
        let class = tempfile::tempdir().unwrap();
        let course = Course::load(&Source::BuiltIn).unwrap();
        let at = StepRef::new("regression-and-wrap-up", "contest");
        let run = |learner: &str, id: &str, rate: f64, gradients: f64| {
            let place = Place {
                folder: class.path().join(learner),
                learner: learner.into(),
            };
            let mut session = Session::open(place).unwrap();
            let command = ["tutor", "run", "v4", "--events", "--dtype", "bf16"];
            let started = Event::RunStarted {
                run: id.into(),
                at: Some(at.clone()),
                target: "v4".into(),
                command: command.map(str::to_owned).to_vec(),
                host: "here".into(),
            };
            let values = [
                ("samples_per_s", rate),
                ("total_ms", 8e3 / rate),
                ("first_loss", 7.0),
                ("final_loss", 5.0),
                ("parameter_tensors", 38.0),
                ("parameters_with_gradient", gradients),
            ];
            let finished = Event::RunFinished {
                run: id.into(),
                exit: RunExit::SUCCESS,
                values: values.map(|(name, value)| (name.to_string(), value)).into(),
            };
            session.record_all(vec![started, finished]).unwrap();
        };
        run("ada", "1", 500.0, 38.0);
        run("ada", "2", 900.0, 38.0);
        run("bob", "3", 700.0, 38.0);
        run("eve", "4", 9000.0, 1.0);
        let mut class = Class::open(class.path()).unwrap();
        let rungs = ladder(&mut class, &course).unwrap();
        let order: Vec<(&str, f64)> = rungs
            .iter()
            .map(|rung| (rung.learner.as_str(), rung.samples_per_s))
            .collect();
        assert_eq!(order, [("ada", 900.0), ("bob", 700.0)]);
        assert_eq!(
            (rungs[0].flags.as_str(), rungs[0].tries),
            ("--dtype bf16", 2)
        );
    }
}
