//! The parts of the course that a reset covers.

use std::collections::BTreeSet;

use thiserror::Error;

use tinyllama_lesson::Job;
use tinyllama_lesson::{Course, Lesson, Step};
use tinyllama_session::{OrderAction, Scope, StepRef};

/// A step or stage as an instructor names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeName {
    /// `lesson/step`
    Step(String),
    /// `3` or `stage3`
    Stage(String),
    Lesson(String),
    Session(String),
    All,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ScopeError {
    #[error("a step is named LESSON/STEP, such as `first-baseline/baseline`; `{0}` is not")]
    NoStepName(String),
    #[error("the course has no {what} `{name}`; there are: {known}")]
    Unknown {
        what: &'static str,
        name: String,
        known: String,
    },
    #[error("no step of the course runs `{0}`")]
    NoStage(String),
}

/// Returns the scope and the workbench files that belong to it.
///
/// # Errors
/// Fails if the course does not have what `named` names.
pub fn resolve(named: &ScopeName, course: &Course) -> Result<(Scope, Vec<String>), ScopeError> {
    let scope = match named {
        ScopeName::Step(name) => Scope::Step(step(name, course)?),
        ScopeName::Stage(name) => Scope::Steps(stage(name, course)?),
        ScopeName::Lesson(id) => Scope::Lessons(vec![lesson(id, course)?.id.clone()]),
        ScopeName::Session(id) => Scope::Lessons(session(id, course)?),
        ScopeName::All => Scope::All,
    };
    let files = course
        .steps()
        .filter(|(lesson, step)| scope.covers(&lesson.id, &step.id))
        .filter_map(|(_, step)| Some(step.as_kernel()?.exercise.file_name()));
    let files: BTreeSet<String> = files.collect();
    Ok((scope, files.into_iter().collect()))
}

/// Finds a step by `lesson/step`.
///
/// # Errors
/// Fails if the name has no `/`, or the course does not have the lesson or the step.
pub fn step(name: &str, course: &Course) -> Result<StepRef, ScopeError> {
    let (of, id) = name
        .split_once('/')
        .ok_or_else(|| ScopeError::NoStepName(name.into()))?;
    let lesson = lesson(of, course)?;
    match lesson.step(id) {
        Some(step) => Ok(StepRef::new(&lesson.id, &step.id)),
        None => Err(unknown(
            "step",
            name,
            lesson.steps.iter().map(|step| &step.id),
        )),
    }
}

/// Finds a lesson by its id.
///
/// # Errors
/// Fails if the course does not have it.
pub fn lesson<'a>(id: &str, course: &'a Course) -> Result<&'a Lesson, ScopeError> {
    let known = || course.lessons().map(|lesson| &lesson.id);
    course
        .lesson(id)
        .ok_or_else(|| unknown("lesson", id, known()))
}

/// Finds lessons by their ids, sessions' ids, or `all`, each lesson once and in the order of the course.
///
/// # Errors
/// Fails if the course does not have one of them, or none is named.
pub fn lessons<'a>(
    names: impl Iterator<Item = &'a str>,
    course: &Course,
) -> Result<Vec<String>, ScopeError> {
    let mut wanted = BTreeSet::new();
    for name in names {
        match (name, course.session(name)) {
            ("all", _) => wanted.extend(course.lessons().map(|lesson| lesson.id.clone())),
            (_, Some(session)) => wanted.extend(session.lessons.iter().cloned()),
            _ => drop(wanted.insert(lesson(name, course)?.id.clone())),
        }
    }
    let ids = course.lessons().map(|lesson| lesson.id.clone());
    let found: Vec<String> = ids.filter(|id| wanted.contains(id)).collect();
    match found.is_empty() {
        true => Err(unknown("lesson", "", course.lessons().map(|it| &it.id))),
        false => Ok(found),
    }
}

/// The order that opens these lessons with one message. `None` for no lesson.
pub fn unlock(lessons: Vec<String>) -> Option<OrderAction> {
    let mut lessons = lessons.into_iter();
    Some(OrderAction::Unlock {
        lesson: lessons.next()?,
        others: lessons.collect(),
    })
}

fn session(id: &str, course: &Course) -> Result<Vec<String>, ScopeError> {
    let known = || course.sessions.iter().map(|session| &session.id);
    let lessons = course.session(id).map(|session| session.lessons.clone());
    lessons.ok_or_else(|| unknown("session", id, known()))
}

fn unknown<'a>(
    what: &'static str,
    name: &str,
    known: impl Iterator<Item = &'a String>,
) -> ScopeError {
    let known = known.map(String::as_str).collect::<Vec<_>>().join(", ");
    let name = name.into();
    ScopeError::Unknown { what, name, known }
}

/// Finds the steps that run a stage, with the guesses and checks about those runs.
fn stage(name: &str, course: &Course) -> Result<Vec<StepRef>, ScopeError> {
    let target = match name.starts_with("stage") {
        true => name.to_string(),
        false => format!("stage{name}"),
    };
    let runs: BTreeSet<StepRef> = course
        .steps()
        .filter(|(_, step)| matches!(step.job(), Some(Job::Run(of)) if of == target))
        .map(|(lesson, step)| StepRef::new(&lesson.id, &step.id))
        .collect();
    if runs.is_empty() {
        return Err(ScopeError::NoStage(target));
    }
    let about_it = course
        .steps()
        .filter(|(lesson, step)| is_about(lesson, step, &runs));
    Ok(about_it
        .map(|(lesson, step)| StepRef::new(&lesson.id, &step.id))
        .collect())
}

fn is_about(lesson: &Lesson, step: &Step, runs: &BTreeSet<StepRef>) -> bool {
    let about = step.looks_back();
    runs.contains(&StepRef::new(&lesson.id, &step.id))
        || about.into_iter().any(|run| runs.contains(run))
}
