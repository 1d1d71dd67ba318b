//! A step, and what was found at it so far.

use super::report::CheckReport;
use crate::lesson::{Lesson, Place, Problem, Source, Step, Verdict, place};
use crate::session::event::StepRef;
use crate::session::learning::Checked;

pub(super) struct Visit<'a> {
    pub source: &'a Source,
    pub lesson: &'a Lesson,
    pub step: &'a Step,
    pub index: usize,
    pub problems: Vec<Problem>,
    pub checks: Vec<CheckReport>,
    pub notes: Vec<String>,
    pub seconds: f64,
}

impl Visit<'_> {
    pub(super) fn at(&self) -> StepRef {
        StepRef::new(&self.lesson.id, &self.step.id)
    }

    pub(super) fn problem(&mut self, place: Place, message: impl Into<String>) {
        let problem = place::problem(self.source, self.lesson, place, message);
        self.problems.push(problem);
    }

    /// Notes a check's outcome. One that is `needed` has to pass; what else does not depends on the machine.
    pub(super) fn judge(
        &mut self,
        index: usize,
        checked: &Checked,
        needed: bool,
        (key, complaint): (&'static str, &str),
    ) {
        self.checks.push(checked.into());
        let said: Vec<&str> = checked.text.split_whitespace().collect();
        let said = said.join(" ");
        match checked.verdict {
            Verdict::Passed => {}
            Verdict::NotEvaluated => self.notes.push(format!("`{}` needs a GPU", checked.check)),
            _ if needed => {
                let place = Place::Check(self.index, index, key);
                self.problem(
                    place,
                    format!("{complaint} does not pass this check. {said}"),
                );
            }
            verdict => {
                let note = format!("`{}`: {}. {said}", checked.check, verdict.name());
                self.notes.push(note);
            }
        }
    }

    pub(super) fn problem_in_step(
        &mut self,
        key: Option<&'static str>,
        message: impl Into<String>,
    ) {
        self.problem(Place::Step(self.index, key), message);
    }
}
