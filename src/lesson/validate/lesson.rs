//! Validates one lesson: its length, its texts, and each step.

use std::collections::BTreeSet;

use super::id;
use crate::contradictions::contradictions;
use crate::file::CourseFile;
use crate::kinds::Demand;
use crate::placeholder::PlaceholderValue;
use crate::template::{self, TextPart};
use crate::text_condition::TextCondition;
use crate::{Course, Lesson, Problem, Step, is_id};
use tinyllama_contract::targets;

/// A lesson may exceed its planned time by this factor before it counts as too long.
const LEEWAY: f64 = 1.25;
/// Most minutes of a lesson. Longer lessons have to be split.
const MOST_MINUTES: u32 = 25;

pub(super) struct LessonCheck<'a> {
    pub(super) course: &'a Course,
    pub(super) lesson: &'a Lesson,
    pub(super) file: &'a CourseFile,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl LessonCheck<'_> {
    pub fn check_all(mut self) {
        self.requires();
        self.length();
        let mut ids = BTreeSet::new();
        for (index, step) in self.lesson.steps.iter().enumerate() {
            let at = format!("steps/{index}");
            self.id(&step.id, &mut ids, "step", &format!("{at}/id"));
            self.step(&at, index, step);
        }
        if self.lesson.objectives.is_empty() {
            self.refuse("objectives", "a lesson needs at least one objective");
        }
        if self.lesson.steps.is_empty() {
            self.refuse("steps", "a lesson needs at least one step");
        }
    }

    pub fn refuse(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(self.file.problem(path, message));
    }

    pub fn id(&mut self, text: &str, seen: &mut BTreeSet<String>, what: &str, path: &str) {
        self.problems.extend(id(text, seen, what, self.file, path));
    }

    fn length(&mut self) {
        let (planned, estimated) = (self.lesson.minutes, self.lesson.estimated_minutes());
        if planned > MOST_MINUTES {
            let message =
                format!("{planned} minutes: a lesson has at most {MOST_MINUTES}; split it");
            self.refuse("minutes", message);
        } else if estimated > LEEWAY * f64::from(planned) {
            self.refuse("minutes", self.lesson.minutes_problem());
        }
    }

    /// Validates one step. `at` is its path in the file.
    fn step(&mut self, at: &str, index: usize, step: &Step) {
        self.text(at, index, step);
        if let Some(recording) = &step.recording
            && !is_id(recording)
        {
            let message = format!("`{recording}` is not an id of a recording");
            self.refuse(&format!("{at}/recording"), message);
        }
        self.golden(at, step);
        let mut checks = BTreeSet::new();
        for (c, check) in step.checks.iter().enumerate() {
            let at = format!("{at}/checks/{c}");
            self.id(&check.id, &mut checks, "check", &format!("{at}/id"));
            for message in contradictions(check) {
                self.refuse(&at, message);
            }
            self.measured_before(index + 1, &check.measure, &format!("{at}/measure"));
        }
        for (h, hint) in step.hints.iter().enumerate() {
            if let Some(after) = &hint.after
                && !step.checked().any(|(id, _)| id == after)
            {
                let message = format!("this step has no check `{after}`");
                self.refuse(&format!("{at}/hints/{h}/after"), message);
            }
        }
        if let Some(target) = &step.target
            && !targets::names().any(|known| known == target)
        {
            let names: Vec<&str> = targets::names().collect();
            let names = names.join(", ");
            let message = format!("there is no target `{target}`; there are: {names}");
            self.refuse(&format!("{at}/target"), message);
        }
        let mut expects = BTreeSet::new();
        for (e, expect) in step.expects().iter().enumerate() {
            let path = format!("{at}/checks/{e}");
            self.id(&expect.id, &mut expects, "check", &path);
        }
        for demand in step.content().demands() {
            self.demand(at, index, demand);
        }
    }

    fn demand(&mut self, at: &str, index: usize, demand: Demand) {
        match demand {
            Demand::Fault(path, message) => self.refuse(&format!("{at}/{path}"), message),
            Demand::RunBefore(path, run) if !self.is_made(run, index) => {
                let message = format!("no run of this name comes before: `{run}`");
                self.refuse(&format!("{at}/{path}"), message);
            }
            Demand::RunBefore(..) => {}
            Demand::OutputBefore(of) => self.output_before(index, of, at),
            Demand::RunAfter(measure) => self.prediction(at, index, measure),
            Demand::TextAfter(text) => self.live(at, text, index, index + 1),
        }
    }

    fn text(&mut self, at: &str, index: usize, step: &Step) {
        let path = format!("{at}/text");
        self.live(at, &step.text, index, index);
        for page in linked_pages(&step.text) {
            if !self.course.reference.contains_key(page) {
                let message = format!("it links to reference/{page}, which does not exist");
                self.refuse(&path, message);
            }
        }
        if step.text.trim().is_empty() {
            self.refuse(&path, "the text is empty");
        }
    }

    /// Checks the live values of a text. They may name runs before the step at `end`, and outputs before the one at
    /// `index`.
    pub fn live(&mut self, at: &str, text: &str, index: usize, end: usize) {
        let path = format!("{at}/text");
        let parts = match template::parse(text) {
            Ok(parts) => parts,
            Err(message) => return self.refuse(&path, message),
        };
        template::visit(&parts, &mut |part, _| match part {
            TextPart::Written(_) => {}
            TextPart::Value(value) => {
                let parsed = PlaceholderValue::parse(value, &self.lesson.id);
                self.shown(&path, value, parsed, index, end);
            }
            TextPart::Choice(passages) => {
                for condition in passages.iter().filter_map(|passage| passage.condition) {
                    self.condition(&path, condition, index, end);
                }
            }
        });
    }

    fn shown(
        &mut self,
        path: &str,
        written: &str,
        value: Result<PlaceholderValue, String>,
        index: usize,
        end: usize,
    ) {
        match value {
            Ok(PlaceholderValue::Run(quantity)) => self.measured_before(end, &quantity, path),
            Ok(PlaceholderValue::Output(figure, _)) => {
                self.output_before(index, &figure.step, path)
            }
            Ok(PlaceholderValue::KnownFigure(_)) => {}
            Err(message) => self.refuse(path, format!("`{{{{ {written} }}}}`: {message}")),
        }
    }

    /// Checks the condition of a passage: its check, run or output comes before the text.
    fn condition(&mut self, path: &str, written: &str, index: usize, end: usize) {
        match TextCondition::parse(written, &self.lesson.id) {
            Ok(TextCondition::Verdict { step, check, .. }) => {
                let mut before = self.lesson.steps.iter().take(end);
                let step = before.find(|it| it.id == step);
                if !step.is_some_and(|step| step.checked().any(|(id, _)| id == check)) {
                    let message =
                        format!("`{written}`: no check of this name comes before in this lesson");
                    self.refuse(path, message);
                }
            }
            Ok(TextCondition::Reported(value)) => self.shown(path, written, Ok(value), index, end),
            Ok(TextCondition::OnCpu(run, _)) => {
                if !self.is_made(&run, end) {
                    self.refuse(path, format!("no run of this name comes before: `{run}`"));
                }
            }
            Ok(TextCondition::Output(condition)) => {
                for figure in condition.figures() {
                    self.output_before(index, &figure.step, path);
                }
            }
            Err(message) => self.refuse(path, message),
        }
    }
}

/// Finds the pages that a text links to, as `(reference/page.md)` or `(reference/page.md#part)`.
fn linked_pages(text: &str) -> impl Iterator<Item = &str> {
    text.split("(reference/")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next())
}
