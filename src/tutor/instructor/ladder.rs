//! The contest of a course: each learner's best correct run, the fastest first.

use serde::Serialize;

use crate::instructor::{Class, ClassError};
use tinyllama_lesson::{Check, Course, StepRef, Term};
use tinyllama_session::{RunEntry, SessionState};

/// A learner's best run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestRun {
    pub learner: String,
    pub target: String,
    pub samples_per_s: f64,
    pub step_ms: Option<f64>,
    /// Flags of the run.
    pub flags: String,
    /// Number of runs that reached their end.
    pub tries: usize,
}

/// Ranks the learners of a class.
///
/// # Errors
/// Fails if the class folder may no longer be read.
pub fn ladder(class: &mut Class, course: &Course) -> Result<Vec<BestRun>, ClassError> {
    let learners = class.learners()?;
    let mut rungs: Vec<BestRun> = learners
        .iter()
        .filter_map(|learner| {
            let (state, _) = learner.state.as_ref().ok()?;
            best(&learner.location.learner, state, course)
        })
        .collect();
    rungs.sort_by(|a, b| b.samples_per_s.total_cmp(&a.samples_per_s));
    Ok(rungs)
}

fn best(learner: &str, state: &SessionState, course: &Course) -> Option<BestRun> {
    let steps = course.steps();
    let contests = steps.filter(|(_, step)| step.as_run().is_some_and(|run| run.contest));
    let mut correct: Vec<(f64, &RunEntry)> = Vec::new();
    for (lesson, step) in contests {
        let name = StepRef::parse(&step.id, &lesson.id);
        let required = || step.checks.iter().filter(|check| check.required);
        let Some(progress) = state.step(&lesson.id, &step.id) else {
            continue;
        };
        let runs = progress.runs.iter().filter_map(|id| state.runs.get(id));
        let runs = runs.filter(|run| {
            run.recording.is_none()
                && run.exit.is_some_and(|exit| exit.is_success())
                && required().all(|check| holds(check, &name, run, state))
        });
        correct.extend(runs.filter_map(|run| Some((*run.values.get("samples_per_s")?, run))));
    }
    let (samples_per_s, run) = correct.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let flags: Vec<&str> = run.flags().map(String::as_str).collect();
    Some(BestRun {
        learner: learner.into(),
        target: run.target.clone(),
        samples_per_s: *samples_per_s,
        step_ms: run.values.get("total_ms").copied(),
        flags: flags.join(" ").replace(char::is_control, " "),
        tries: correct.len(),
    })
}

/// Returns whether a run of the contest meets a check, by the figures in the records.
fn holds(check: &Check, contest: &StepRef, run: &RunEntry, state: &SessionState) -> bool {
    let value = |term: &Term| {
        let other = || {
            let progress = state.step(&term.run.lesson, &term.run.step)?;
            state.runs.get(progress.runs.last()?)
        };
        let run = if term.run == *contest {
            Some(run)
        } else {
            other()
        };
        run?.values.get(term.metric.name()).copied()
    };
    let above = value(&check.measure.numerator);
    let found = match &check.measure.denominator {
        Some(below) => above.zip(value(below)).map(|(above, below)| above / below),
        None => above,
    };
    found.is_some_and(|value| check.accepts(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_lesson::CourseSource;
    use tinyllama_session::event::{RunExit, SessionEvent, StepRef};
    use tinyllama_session::{Session, SessionLocation};

    #[test]
    fn the_fastest_correct_run_of_everybody_counts_and_a_lie_does_not() {
        let class = tempfile::tempdir().unwrap();
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let at = StepRef::new("regression-and-wrap-up", "contest");
        let run = |learner: &str, id: &str, rate: f64, gradients: f64, size: f64| {
            let location = SessionLocation::new(class.path(), learner);
            let mut session = Session::open(location).unwrap();
            let command = ["tutor", "run", "v4", "--events", "--dtype", "bf16"];
            let begun = |id: &str, at: &StepRef| SessionEvent::RunStarted {
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
            let ended = |id: &str, size: f64| SessionEvent::RunFinished {
                run: id.into(),
                exit: RunExit::SUCCESS,
                values: values
                    .into_iter()
                    .chain([("parameters", size)])
                    .map(|(name, value)| (name.to_string(), value))
                    .collect(),
            };
            let before = StepRef::new("fusing-a-block", "ultra");
            let usual = format!("usual-{id}");
            let events = vec![
                begun(&usual, &before),
                ended(&usual, 1e6),
                begun(id, &at),
                ended(id, size),
            ];
            session.record_all(events).unwrap();
        };
        run("ada", "1", 500.0, 38.0, 1e6);
        run("ada", "2", 900.0, 38.0, 1e6);
        run("bob", "3", 700.0, 38.0, 1e6);
        run("eve", "4", 9000.0, 1.0, 1e6);
        run("mallory", "5", 8000.0, 38.0, 1e4);
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
