//! Finds problems that serde cannot see: unknown names, cycles, checks that cannot fail or cannot pass, lessons that
//! are too long.

mod golden;
mod lesson;
mod paths;
mod reach;

use std::collections::{BTreeMap, BTreeSet};

use super::file::CourseFile;
use crate::{Course, CourseSource, Problem, WorkshopDocument};
use lesson::LessonCheck;

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

/// Adds the problems of workshop.yaml itself.
pub(super) fn workshop(
    workshop: &WorkshopDocument,
    source: &CourseSource,
    file: &CourseFile,
    problems: &mut Vec<Problem>,
) {
    let mut sessions = BTreeSet::new();
    let mut lessons = BTreeSet::new();
    for (s, session) in workshop.sessions.iter().enumerate() {
        let at = |rest: String| format!("sessions/{s}/{rest}");
        let path = at("id".into());
        problems.extend(id(&session.id, &mut sessions, "session", file, &path));
        let listed = session.lessons.iter().enumerate();
        let listed = listed.map(|(l, lesson)| (lesson, format!("lessons/{l}")));
        let planned = session.planned.iter().enumerate();
        let planned = planned.map(|(p, planned)| (&planned.id, format!("planned/{p}/id")));
        for (lesson, path) in listed.chain(planned) {
            problems.extend(id(lesson, &mut lessons, "lesson", file, &at(path)));
        }
        if is_id(&session.id) {
            for name in source.files(&session.id, "yaml") {
                let mut listed = session.lessons.iter();
                if !listed.any(|lesson| name == format!("{lesson}.yaml")) {
                    let folder = &session.id;
                    let message = format!("the file {folder}/{name} is in no session's `lessons`");
                    problems.push(file.problem(&at("lessons".into()), message));
                }
            }
        }
    }
}

/// Adds the problems that only show when all lessons are known.
pub(super) fn course(
    course: &Course,
    workshop: &CourseFile,
    files: &BTreeMap<String, CourseFile>,
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
            let planned = session.minutes;
            let message = format!("the lessons take {sum} minutes, the session {planned}");
            problems.push(workshop.problem(&format!("sessions/{s}/minutes"), message));
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
        .check_all();
    }
    paths::check(course, workshop, problems);
}

fn id(
    id: &str,
    seen: &mut BTreeSet<String>,
    what: &str,
    file: &CourseFile,
    path: &str,
) -> Option<Problem> {
    if !is_id(id) {
        let problem = file.problem(path, format!("`{id}` is not an id"));
        return Some(problem.with_help(ID_RULE));
    }
    let is_new = seen.insert(id.to_string());
    (!is_new).then(|| file.problem(path, format!("there are two {what}s with the id `{id}`")))
}
