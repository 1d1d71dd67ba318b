//! A step, and what was found at it so far.

use super::report::CheckReport;
use crate::lesson::{Lesson, Place, Problem, Source, Step, place};
use crate::session::event::StepRef;

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

    pub(super) fn problem_in_step(
        &mut self,
        key: Option<&'static str>,
        message: impl Into<String>,
    ) {
        self.problem(Place::Step(self.index, key), message);
    }
}
