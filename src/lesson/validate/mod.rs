//! What serde cannot see: names that lead nowhere, cycles, checks that cannot fail or cannot pass, lessons too long.

mod golden;
mod lesson;
mod reach;

use std::collections::{BTreeMap, BTreeSet};

use super::course::Course;
use super::document::WorkshopDocument;
use super::file::File;
use super::locate::Part;
use super::problem::Problem;
use super::source::Source;
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
