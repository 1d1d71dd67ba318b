//! One lesson: its length, its texts, and what each step says.

use std::collections::BTreeSet;

use super::{id, is_id};
use crate::lesson::case::Case;
use crate::lesson::course::{Course, Lesson, Step, StepKind};
use crate::lesson::file::File;
use crate::lesson::impossible::{impossible, quiz_problems};
use crate::lesson::live;
use crate::lesson::locate::Part;
use crate::lesson::problem::Problem;
use crate::targets;

/// A lesson may take this much longer than planned before it is called too long.
const LEEWAY: f64 = 1.25;
/// Longer lessons are split.
const MOST_MINUTES: u32 = 25;

pub(super) struct LessonCheck<'a> {
    pub course: &'a Course,
    pub lesson: &'a Lesson,
    pub file: &'a File,
    pub problems: &'a mut Vec<Problem>,
}

impl LessonCheck<'_> {
    pub fn all(mut self) {
        self.requires();
        self.length();
        let mut ids = BTreeSet::new();
        for (index, step) in self.lesson.steps.iter().enumerate() {
            let path = [Part::Key("steps"), Part::Index(index), Part::Key("id")];
            id(&step.id, &mut ids, "step", self.file, &path, self.problems);
            self.step(index, step);
        }
        if self.lesson.objectives.is_empty() {
            self.refuse(
                &[Part::Key("objectives")],
                "a lesson states at least one objective",
            );
        }
        if self.lesson.steps.is_empty() {
            self.refuse(&[Part::Key("steps")], "a lesson has at least one step");
        }
    }

    pub(super) fn refuse(&mut self, path: &[Part], message: impl Into<String>) {
        self.problems.push(self.file.problem(path, message));
    }

    pub(super) fn refuse_in_step(
        &mut self,
        index: usize,
        path: &[Part],
        message: impl Into<String>,
    ) {
        let mut full = vec![Part::Key("steps"), Part::Index(index)];
        full.extend_from_slice(path);
        self.refuse(&full, message);
    }

    fn length(&mut self) {
        let (planned, estimated) = (self.lesson.minutes, self.lesson.estimated_minutes());
        if planned > MOST_MINUTES {
            self.refuse(
                &[Part::Key("minutes")],
                format!("{planned} minutes: a lesson has at most {MOST_MINUTES}; split it"),
            );
        } else if estimated > LEEWAY * f64::from(planned) {
            let message = format!(
                "{planned} minutes are planned, but its texts, runs and questions take about {estimated:.0}"
            );
            self.refuse(&[Part::Key("minutes")], message);
        }
    }

    fn step(&mut self, index: usize, step: &Step) {
        self.text(index, step);
        if let Some(recording) = &step.recording
            && !is_id(recording)
        {
            let message = format!("`{recording}` is no id of a recording");
            self.refuse_in_step(index, &[Part::Key("recording")], message);
        }
        self.golden(index, step);
        let mut checks = BTreeSet::new();
        for (c, check) in step.checks.iter().enumerate() {
            let at = [
                Part::Key("steps"),
                Part::Index(index),
                Part::Key("checks"),
                Part::Index(c),
            ];
            id(
                &check.id,
                &mut checks,
                "check",
                self.file,
                &[&at[..], &[Part::Key("id")]].concat(),
                self.problems,
            );
            for message in impossible(check) {
                self.refuse(&at, message);
            }
            self.measured_before(
                index + 1,
                &check.measure,
                &[&at[..], &[Part::Key("measure")]].concat(),
            );
        }
        for (h, hint) in step.hints.iter().enumerate() {
            if let Some(after) = &hint.after
                && !step.checked().any(|(id, _)| id == after)
            {
                let path = [Part::Key("hints"), Part::Index(h), Part::Key("after")];
                self.refuse_in_step(index, &path, format!("this step has no check `{after}`"));
            }
        }
        match &step.kind {
            StepKind::Run { target, .. }
            | StepKind::Profile { target, .. }
            | StepKind::Investigate(Case { target, .. })
                if !targets::names().any(|known| known == target) =>
            {
                let names: Vec<&str> = targets::names().collect();
                let message = format!(
                    "there is no target `{target}`; there are: {}",
                    names.join(", ")
                );
                self.refuse_in_step(index, &[Part::Key("target")], message);
            }
            StepKind::Predict { measure } => self.prediction(index, measure),
            StepKind::Compare { runs, .. } => self.compared(index, runs),
            StepKind::Run {
                against: Some(run), ..
            } => {
                let path = [Part::Key("steps"), Part::Index(index), Part::Key("against")];
                if !self.is_made(run, index) {
                    self.refuse(&path, format!("no run of this name comes before: `{run}`"));
                }
            }
            StepKind::Command { expects, .. } => {
                let mut ids = BTreeSet::new();
                for (e, expect) in expects.iter().enumerate() {
                    let at = [
                        Part::Key("steps"),
                        Part::Index(index),
                        Part::Key("checks"),
                        Part::Index(e),
                    ];
                    id(&expect.id, &mut ids, "check", self.file, &at, self.problems);
                }
            }
            StepKind::Quiz(quiz) => {
                for (path, message) in quiz_problems(quiz) {
                    self.refuse_in_step(index, &path, message);
                }
                if let Some(of) = quiz.asks_of() {
                    let path = [Part::Key("steps"), Part::Index(index)];
                    self.output_before(index, of, &path);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, index: usize, step: &Step) {
        let path = [Part::Key("text")];
        let measurements = match &step.kind {
            StepKind::Investigate(case) => &case.measurements[..],
            _ => &[],
        };
        let shown = measurements.iter().map(|measurement| &measurement.shows);
        let values: Vec<(&str, usize)> = live::values(&step.text)
            .map(|value| (value, index))
            // What a measurement shows is read after it.
            .chain(shown.flat_map(|text| live::values(text).map(|value| (value, index + 1))))
            .collect();
        for (value, end) in values {
            let full = [&[Part::Key("steps"), Part::Index(index)], &path[..]].concat();
            match live::Value::parse(value, &self.lesson.id) {
                Ok(live::Value::Run(quantity)) => self.measured_before(end, &quantity, &full),
                Ok(live::Value::Output(figure, _)) => {
                    self.output_before(index, &figure.step, &full)
                }
                Ok(live::Value::Known(_)) => {}
                Err(message) => {
                    self.refuse_in_step(index, &path, format!("`{{{{ {value} }}}}`: {message}"))
                }
            }
        }
        for page in linked_pages(&step.text) {
            if !self.course.reference.contains_key(page) {
                self.refuse_in_step(
                    index,
                    &path,
                    format!("it links to reference/{page}, which does not exist"),
                );
            }
        }
        if step.text.trim().is_empty() {
            self.refuse_in_step(index, &path, "the text is empty");
        }
    }
}

/// The pages a text links to, as `(reference/page.md)` or `(reference/page.md#part)`.
fn linked_pages(text: &str) -> impl Iterator<Item = &str> {
    text.split("(reference/")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next())
}
