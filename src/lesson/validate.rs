//! What serde cannot see: names that lead nowhere, cycles, checks that cannot fail or cannot pass, lessons too long.

use std::collections::{BTreeMap, BTreeSet};

use super::course::{Course, Golden, Lesson, Step, StepKind, TARGETS};
use super::document::WorkshopDocument;
use super::file::File;
use super::impossible::{impossible, quiz_problems};
use super::live;
use super::locate::Part;
use super::problem::Problem;
use super::quantity::{Quantity, RunName};
use super::source::Source;

/// A lesson may take this much longer than planned before it is called too long.
const LEEWAY: f64 = 1.25;
/// Longer lessons are split.
const MOST_MINUTES: u32 = 25;

/// Lower-case letters, digits and hyphens; safe as a file's name.
pub fn is_id(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=48).contains(&text.len())
        && text.chars().all(allowed)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

const ID_RULE: &str =
    "an id is 1 to 48 lower-case letters, digits and hyphens, with no hyphen at either end";

/// Problems of workshop.yaml itself.
pub(super) fn workshop(
    workshop: &WorkshopDocument,
    source: &Source,
    file: &File,
    problems: &mut Vec<Problem>,
) {
    let mut sessions = BTreeSet::new();
    let mut lessons = BTreeSet::new();
    for (s, session) in workshop.sessions.iter().enumerate() {
        let at = |rest: &[Part<'static>]| [&[Part::Key("sessions"), Part::Index(s)], rest].concat();
        id(
            &session.id,
            &mut sessions,
            "session",
            file,
            &at(&[Part::Key("id")]),
            problems,
        );
        for (l, lesson) in session.lessons.iter().enumerate() {
            id(
                lesson,
                &mut lessons,
                "lesson",
                file,
                &at(&[Part::Key("lessons"), Part::Index(l)]),
                problems,
            );
        }
        for (p, planned) in session.planned.iter().enumerate() {
            let path = at(&[Part::Key("planned"), Part::Index(p), Part::Key("id")]);
            id(&planned.id, &mut lessons, "lesson", file, &path, problems);
        }
        if is_id(&session.id) {
            for name in source.files(&session.id, "yaml") {
                let listed = session
                    .lessons
                    .iter()
                    .any(|lesson| name == format!("{lesson}.yaml"));
                if !listed {
                    let message = format!(
                        "the file {}/{name} is in no session's `lessons`",
                        session.id
                    );
                    problems.push(file.problem(&at(&[Part::Key("lessons")]), message));
                }
            }
        }
    }
}

/// Problems that only show when all lessons are known.
pub(super) fn course(
    course: &Course,
    workshop: &File,
    files: &BTreeMap<String, File>,
    problems: &mut Vec<Problem>,
) {
    for (s, session) in course.sessions.iter().enumerate() {
        let lessons = session
            .lessons
            .iter()
            .filter_map(|id| course.lesson(id))
            .map(|lesson| lesson.minutes);
        let sum: u32 = lessons
            .chain(session.planned.iter().map(|planned| planned.minutes))
            .sum();
        if sum > session.minutes {
            let path = [Part::Key("sessions"), Part::Index(s), Part::Key("minutes")];
            let message = format!(
                "the lessons take {sum} minutes, the session {}",
                session.minutes
            );
            problems.push(workshop.problem(&path, message));
        }
    }
    for lesson in course.lessons() {
        let Some(file) = files.get(&lesson.id) else {
            continue;
        };
        LessonCheck {
            course,
            lesson,
            file,
            problems,
        }
        .all();
    }
}

fn id(
    id: &str,
    seen: &mut BTreeSet<String>,
    what: &str,
    file: &File,
    path: &[Part],
    problems: &mut Vec<Problem>,
) {
    if !is_id(id) {
        problems.push(
            file.problem(path, format!("`{id}` is no id"))
                .with_help(ID_RULE),
        );
    } else if !seen.insert(id.to_string()) {
        problems.push(file.problem(path, format!("there are two {what}s with the id `{id}`")));
    }
}

struct LessonCheck<'a> {
    course: &'a Course,
    lesson: &'a Lesson,
    file: &'a File,
    problems: &'a mut Vec<Problem>,
}

impl LessonCheck<'_> {
    fn all(mut self) {
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

    fn refuse(&mut self, path: &[Part], message: impl Into<String>) {
        self.problems.push(self.file.problem(path, message));
    }

    fn refuse_in_step(&mut self, index: usize, path: &[Part], message: impl Into<String>) {
        let mut full = vec![Part::Key("steps"), Part::Index(index)];
        full.extend_from_slice(path);
        self.refuse(&full, message);
    }

    fn requires(&mut self) {
        for (i, required) in self.lesson.requires.iter().enumerate() {
            let path = [Part::Key("requires"), Part::Index(i)];
            if !self.is_listed(required) {
                self.refuse(&path, format!("there is no lesson `{required}`"));
            } else if let Some(way) = way(self.course, required, &self.lesson.id) {
                let circle = way.join(" -> ");
                self.refuse(
                    &path,
                    format!(
                        "this lesson would wait for itself: {} -> {circle}",
                        self.lesson.id
                    ),
                );
            }
        }
    }

    /// Also true of a lesson whose file could not be read.
    fn is_listed(&self, lesson: &str) -> bool {
        self.course
            .sessions
            .iter()
            .any(|session| session.lessons.iter().any(|id| id == lesson))
    }

    /// Whether the lesson's own file is the problem, which has been reported already.
    fn is_unread(&self, lesson: &str) -> bool {
        self.is_listed(lesson) && self.course.lesson(lesson).is_none()
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
                && !checks.contains(after)
            {
                let path = [Part::Key("hints"), Part::Index(h), Part::Key("after")];
                self.refuse_in_step(index, &path, format!("this step has no check `{after}`"));
            }
        }
        match &step.kind {
            StepKind::Run { target, .. } | StepKind::Profile { target, .. }
                if !TARGETS.contains(&target.as_str()) =>
            {
                let message = format!(
                    "there is no target `{target}`; there are: {}",
                    TARGETS.join(", ")
                );
                self.refuse_in_step(index, &[Part::Key("target")], message);
            }
            StepKind::Predict { measure } => self.prediction(index, measure),
            StepKind::Compare { runs, .. } => self.compared(index, runs),
            StepKind::Quiz(quiz) => {
                for (path, message) in quiz_problems(quiz) {
                    self.refuse_in_step(index, &path, message);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, index: usize, step: &Step) {
        let path = [Part::Key("text")];
        for value in live::values(&step.text) {
            match Quantity::parse(value, &self.lesson.id) {
                Ok(quantity) => {
                    let full = [&[Part::Key("steps"), Part::Index(index)], &path[..]].concat();
                    self.measured_before(index, &quantity, &full);
                }
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

    /// Every run of `quantity` must have been started before the step at `end`, here or in a required lesson.
    fn measured_before(&mut self, end: usize, quantity: &Quantity, path: &[Part]) {
        let unreachable: Vec<RunName> = quantity
            .runs()
            .filter(|run| !self.is_unread(&run.lesson) && !self.is_reachable(run, end))
            .cloned()
            .collect();
        for run in unreachable {
            let message = match self.course.step(&run.lesson, &run.step) {
                None => format!("there is no step `{run}`"),
                Some(step) if !matches!(step.kind, StepKind::Run { .. }) => {
                    format!("step `{run}` is no run")
                }
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

    fn is_reachable(&self, run: &RunName, end: usize) -> bool {
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
        steps
            .iter()
            .any(|step| step.id == run.step && matches!(step.kind, StepKind::Run { .. }))
    }

    fn prediction(&mut self, index: usize, measure: &Quantity) {
        let answered_later = measure.runs().any(|run| {
            let later = self.lesson.steps.iter().skip(index + 1);
            run.lesson == self.lesson.id && later.into_iter().any(|step| step.id == run.step)
        });
        let path = [Part::Key("measure")];
        if !answered_later {
            self.refuse_in_step(
                index,
                &path,
                "a prediction needs a run further down in this lesson that answers it",
            );
        }
        let full = [Part::Key("steps"), Part::Index(index), path[0]];
        self.measured_before(self.lesson.steps.len(), measure, &full);
    }

    fn compared(&mut self, index: usize, runs: &[RunName]) {
        let path = [Part::Key("steps"), Part::Index(index), Part::Key("runs")];
        if runs.len() < 2 {
            self.refuse(&path, "comparing takes at least two runs");
        }
        for (i, run) in runs.iter().enumerate() {
            if !self.is_unread(&run.lesson) && !self.is_reachable(run, index) {
                let message = format!("no run of this name comes before: `{run}`");
                self.refuse(&[&path[..], &[Part::Index(i)]].concat(), message);
            }
        }
    }

    fn golden(&mut self, index: usize, step: &Step) {
        let Golden {
            number,
            flags,
            text,
            file,
            import,
        } = &step.golden;
        let (needed, wanted, has) = match &step.kind {
            StepKind::Predict { .. } => (true, "number", number.is_some()),
            StepKind::Run { editable, .. } => (*editable, "flags", flags.is_some()),
            StepKind::Reflect => (true, "text", text.is_some()),
            StepKind::Kernel { .. } => (true, "file", file.is_some()),
            StepKind::Profile { .. } => (true, "import", import.is_some()),
            _ => (false, "", false),
        };
        let given = [
            number.is_some(),
            flags.is_some(),
            text.is_some(),
            file.is_some(),
            import.is_some(),
        ];
        let count = given.iter().filter(|given| **given).count();
        if needed && !has {
            self.refuse_in_step(
                index,
                &[Part::Key("golden")],
                format!("the golden path of this step is its `{wanted}`"),
            );
        } else if count > usize::from(has) {
            let allowed = if wanted.is_empty() {
                "nothing".into()
            } else {
                format!("`{wanted}`")
            };
            self.refuse_in_step(
                index,
                &[Part::Key("golden")],
                format!("the golden path of this kind of step holds {allowed}"),
            );
        }
        if number.is_some_and(|number| !number.is_finite()) {
            self.refuse_in_step(index, &[Part::Key("golden")], "the number is not finite");
        }
        if let StepKind::Run { editable: true, .. } = step.kind
            && step.checks.is_empty()
        {
            self.refuse_in_step(
                index,
                &[],
                "flags a learner has to change need a check that tells when they are right",
            );
        }
    }
}

/// The lessons on the way from `from` down its requirements to `to`, both included.
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

/// The pages a text links to, as `(reference/page.md)` or `(reference/page.md#part)`.
fn linked_pages(text: &str) -> impl Iterator<Item = &str> {
    text.split("(reference/")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next())
}
