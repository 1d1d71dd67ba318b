//! Finds the lessons and runs that a step can refer to.

use std::collections::BTreeSet;

use super::lesson::LessonCheck;
use crate::{Course, FIXED, Quantity, Step, StepRef};

impl LessonCheck<'_> {
    pub fn requires(&mut self) {
        for (i, required) in self.lesson.requires.iter().enumerate() {
            let path = format!("requires/{i}");
            if !self.is_listed(required) {
                self.refuse(&path, format!("there is no lesson `{required}`"));
            } else if let Some(way) = way(self.course, required, &self.lesson.id) {
                let (own, circle) = (&self.lesson.id, way.join(" -> "));
                let message = format!("this lesson would wait for itself: {own} -> {circle}");
                self.refuse(&path, message);
            }
        }
    }

    /// Returns whether workshop.yaml lists the lesson, even if its file could not be read.
    fn is_listed(&self, lesson: &str) -> bool {
        let mut listed = self.course.sessions.iter().flat_map(|it| &it.lessons);
        listed.any(|id| id == lesson)
    }

    /// Returns whether the lesson is listed but its file could not be read. That problem has been reported already.
    fn is_unread(&self, lesson: &str) -> bool {
        self.is_listed(lesson) && self.course.lesson(lesson).is_none()
    }

    /// A question about an output needs the command step before it.
    pub fn output_before(&mut self, end: usize, of: &StepRef, path: &str) {
        let steps = self.lesson.steps.get(..end).unwrap_or_default();
        let here = steps.iter().filter(|step| step.id == of.step);
        let mut here = here.filter(|_| of.lesson == self.lesson.id);
        let elsewhere =
            way(self.course, &self.lesson.id, &of.lesson).is_some() && of.lesson != self.lesson.id;
        let step = match elsewhere {
            true => self.course.step(&of.lesson, &of.step),
            false => here.next(),
        };
        if step.is_none_or(|step| step.as_command().is_none()) {
            self.refuse(path, format!("no command step `{of}` comes before"));
        }
    }

    /// Every run of `quantity` must have been started before the step at `end`, here or in a required lesson.
    pub fn measured_before(&mut self, end: usize, quantity: &Quantity, path: &str) {
        for run in quantity.runs() {
            if self.is_made(run, end) {
                continue;
            }
            let id = run.step.strip_suffix(FIXED).unwrap_or(&run.step);
            let message = match self.course.step(&run.lesson, id) {
                None => format!("there is no step `{run}`"),
                Some(step) if !is_run(step, run) => format!("step `{run}` is not a run"),
                Some(_) if run.lesson == self.lesson.id => {
                    format!("the run of step `{run}` only comes later")
                }
                Some(_) => format!(
                    "lesson `{}` is not required by this one, so step `{run}` may not have run",
                    run.lesson
                ),
            };
            self.refuse(path, message);
        }
    }

    /// Returns whether a run of this name is made before the step at `end`. A lesson that could not be read counts as
    /// making it.
    pub fn is_made(&self, run: &StepRef, end: usize) -> bool {
        self.is_unread(&run.lesson) || self.is_reachable(run, end)
    }

    fn is_reachable(&self, run: &StepRef, end: usize) -> bool {
        let steps = if run.lesson == self.lesson.id {
            self.lesson.steps.get(..end).unwrap_or_default()
        } else if way(self.course, &self.lesson.id, &run.lesson).is_some() {
            self.course
                .lesson(&run.lesson)
                .map(|lesson| lesson.steps.as_slice())
                .unwrap_or_default()
        } else {
            &[]
        };
        steps.iter().any(|step| is_run(step, run))
    }

    pub fn prediction(&mut self, at: &str, index: usize, measure: &Quantity) {
        let answered_later = measure.runs().any(|run| {
            let later = self.lesson.steps.iter().skip(index + 1);
            run.lesson == self.lesson.id && later.into_iter().any(|step| is_run(step, run))
        });
        let path = format!("{at}/measure");
        if !answered_later {
            let message = "a prediction needs a run further down in this lesson that answers it";
            self.refuse(&path, message);
        }
        self.measured_before(self.lesson.steps.len(), measure, &path);
    }
}

/// Returns whether `step` makes the runs of this name.
fn is_run(step: &Step, run: &StepRef) -> bool {
    match run.step.strip_suffix(FIXED) {
        Some(id) => step.id == id && step.as_case().is_some(),
        None => step.id == run.step && step.is_measured(),
    }
}

/// The chain of requirements from `from` to `to`, both included.
fn way(course: &Course, from: &str, to: &str) -> Option<Vec<String>> {
    fn search(
        course: &Course,
        from: &str,
        to: &str,
        seen: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if from == to {
            return Some(vec![to.to_string()]);
        }
        if !seen.insert(from.to_string()) {
            return None;
        }
        let rest = course
            .lesson(from)?
            .requires
            .iter()
            .find_map(|next| search(course, next, to, seen))?;
        Some([vec![from.to_string()], rest].concat())
    }
    search(course, from, to, &mut BTreeSet::new())
}
