//! Walks the steps that run nothing.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::visit::Visit;
use crate::walk::LessonWalker;
use tinyllama_base::ScratchFolder;
use tinyllama_lesson::kinds::compare::CompareStep;
use tinyllama_lesson::{CommandOutputs, Quiz, QuizAnswer, Runs, StepRef, live};
use tinyllama_profile::read;
use tinyllama_runs::Statistic;
use tinyllama_runs::recording::documents;

impl LessonWalker<'_> {
    /// Checks that every live value is measured before a learner reads it.
    pub(crate) fn text(&self, visit: &mut Visit) -> Result<()> {
        let runs = self.measured()?;
        for run in live::runs(&visit.step.text, &visit.lesson.id) {
            if runs.measurements(&run).is_empty() {
                let message = format!("it shows figures of `{run}`, which did not run");
                visit.problem("text", message);
            }
        }
        Ok(())
    }

    /// Checks that every wrong answer is refused with a reason, and that the right one is accepted.
    pub fn quiz(&mut self, visit: &mut Visit, quiz: &Quiz) -> Result<Option<String>> {
        let Some(resolved) = self.session.answerable(self.course, quiz)? else {
            visit.problem("", "the command's document does not say what is right");
            return Ok(None);
        };
        self.recorded(visit, quiz);
        let (at, course, step) = (visit.step_ref(), self.course, visit.step);
        let mut give = |answer| self.session.answer(at.clone(), course, step, answer);
        for (answer, location) in wrong_answers(&resolved) {
            match give(answer)? {
                Some(marked) if marked.correct => {
                    visit.problem(&location, "this wrong answer is accepted");
                }
                Some(marked) if marked.because.trim().is_empty() => {
                    visit.problem(&location, "this wrong answer is refused without a reason");
                }
                Some(_) => {}
                None => visit.problem(&location, "this answer cannot be given"),
            }
        }
        let right = match resolved.solution() {
            Some(answer) => give(answer)?,
            None => None,
        };
        if !right.is_some_and(|marked| marked.correct) {
            visit.problem("", "its own answer is not accepted");
        }
        Ok(None)
    }

    /// Checks that a question about a command's document can be answered from the recorded document, too.
    fn recorded(&self, visit: &mut Visit, quiz: &Quiz) {
        struct Recorded<'a>(&'a StepRef, &'a Value);
        impl CommandOutputs for Recorded<'_> {
            fn document(&self, name: &StepRef) -> Option<&Value> {
                (name == self.0).then_some(self.1)
            }
        }
        let Some(of) = quiz.asked_step() else {
            return;
        };
        let step = self.course.step(&of.lesson, &of.step);
        let Some(id) = step.and_then(|step| step.recording.as_deref()) else {
            return;
        };
        let message = match documents::find(id) {
            None => format!("there is no recorded document `{id}`"),
            Some(document) if quiz.resolved(&Recorded(of, &document.value)).is_none() => {
                format!("the recorded document `{id}` does not say what is right")
            }
            Some(_) => return,
        };
        visit.problem("", message);
    }

    pub fn compare(&mut self, visit: &mut Visit, step: &CompareStep) -> Result<Option<String>> {
        let CompareStep { runs, metrics, .. } = step;
        let measured = self.measured()?;
        for run in runs
            .iter()
            .filter(|run| measured.measurements(run).is_empty())
        {
            visit.problem("runs", format!("`{run}` did not run"));
        }
        for metric in metrics {
            let reported = |run: &StepRef| {
                let newest = measured.measurements(run).pop();
                newest.is_some_and(|run| run.value(*metric, Statistic::Median).is_some())
            };
            if !runs.iter().any(reported) {
                visit.notes.push(format!("{metric} is not reported here"));
            }
        }
        self.session.check(self.course, visit.lesson, visit.step)?;
        Ok(None)
    }

    /// Checks that the sample profile can be read, which a learner imports instead of making one.
    pub fn sample(&self, visit: &mut Visit) -> Result<()> {
        let Some(path) = &visit.step.golden.import else {
            return Ok(());
        };
        let folder = ScratchFolder::new().context("creating a folder for a sample profile")?;
        let found = self
            .source
            .extract(path, folder.path())
            .and_then(|path| read::import(&path).map_err(|error| error.to_string()));
        match found {
            Err(message) => visit.problem("golden", format!("{path}: {message}")),
            Ok(import) if import.taken.is_empty() => {
                visit.problem("golden", format!("{path} is not a profile"));
            }
            Ok(import) if !import.damage.is_empty() => {
                visit.problem("golden", format!("{path} is damaged"));
            }
            Ok(import) => visit
                .notes
                .push(format!("its sample was read: {} files", import.taken.len())),
        }
        Ok(())
    }

    /// Checks that a learner who missed every check gets all hints.
    pub(crate) fn hints(&mut self, visit: &mut Visit) -> Result<()> {
        let at = visit.step_ref();
        let missed = visit
            .step
            .checks
            .iter()
            .map(|check| check.id.clone())
            .collect::<Vec<_>>();
        let on_offer = visit.step.hints_after(&missed).len();
        for (index, hint) in visit.step.hints.iter().enumerate() {
            if hint.text.trim().is_empty() {
                visit.problem(&format!("hints/{index}"), "this hint says nothing");
            }
        }
        if on_offer < visit.step.hints.len() {
            visit.problem("hints", "not every hint can be reached");
        }
        // The first hint is requested as a learner does.
        let unconditional = visit.step.hints.iter().any(|hint| hint.after.is_none());
        let update = !self.session.state().progress(&at).hints.is_empty();
        if self.session.next_hint(at, visit.step)?.is_none() && unconditional && !update {
            visit.problem("hints", "no hint is given to someone who asks");
        }
        Ok(())
    }
}

/// All wrong choices, or wrong numbers.
fn wrong_answers(quiz: &Quiz) -> Vec<(QuizAnswer, String)> {
    match quiz {
        Quiz::Choices(choices) => choices
            .iter()
            .enumerate()
            .filter(|(_, choice)| !choice.correct)
            .map(|(index, _)| (QuizAnswer::Choice(index), format!("choices/{index}")))
            .collect(),
        Quiz::Number(number) => {
            // A number that is off by a fifth is a wrong answer.
            let off = if number.answer == 0.0 {
                1.0
            } else {
                0.2 * number.answer
            };
            [number.answer + off, number.answer - off]
                .into_iter()
                .map(|wrong| (QuizAnswer::Number(wrong), "number/tolerance".into()))
                .collect()
        }
    }
}
