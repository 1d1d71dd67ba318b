//! Checks learning paths: their entries exist, stand in order, include the runs they need, and fit in the planned minutes.

use std::collections::BTreeSet;

use super::id;
use crate::file::CourseFile;
use crate::path::WHOLE;
use crate::{Course, FIXED, LearningPath, Problem};

pub(super) fn check(course: &Course, workshop: &CourseFile, problems: &mut Vec<Problem>) {
    let mut ids = BTreeSet::from([WHOLE.to_string()]);
    for (p, path) in course.paths.iter().enumerate() {
        let at = |key: &str| format!("paths/{p}/{key}");
        problems.extend(id(&path.id, &mut ids, "path", workshop, &at("id")));
        let mut last = None;
        for (l, entry) in path.lessons.iter().enumerate() {
            let position = course.steps().position(|(lesson, step)| {
                *entry == lesson.id || *entry == format!("{}/{}", lesson.id, step.id)
            });
            let message = match position {
                None => Some(format!("there is no `{entry}`")),
                _ if position <= last => Some(format!("`{entry}` comes too late in this path")),
                _ => looked_back(course, path, entry),
            };
            last = last.max(position);
            let found = message.map(|it| workshop.problem(&at(&format!("lessons/{l}")), it));
            problems.extend(found);
        }
        let (taken, planned) = (course.minutes_of_path(path), path.minutes);
        if taken > f64::from(planned) {
            let message =
                format!("the path takes {taken:.0} minutes, but only {planned} are planned");
            problems.push(workshop.problem(&at("minutes"), message));
        }
    }
}

/// A message about a run that an entry needs and that is not on the path, so that its learner never makes it.
fn looked_back(course: &Course, path: &LearningPath, entry: &str) -> Option<String> {
    let mut steps = course.steps().filter(|(lesson, step)| {
        entry == lesson.id || entry == format!("{}/{}", lesson.id, step.id)
    });
    steps.find_map(|(lesson, step)| {
        let missing = step.named_runs(&lesson.id).into_iter().find(|run| {
            let id = run.step.strip_suffix(FIXED).unwrap_or(&run.step);
            !path.has_step(&run.lesson, id)
        })?;
        let step = &step.id;
        Some(format!(
            "step `{step}` looks back at `{missing}`, which is not on the path"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CourseSource;
    use crate::load::WORKSHOP;

    /// The problems of a path with these lessons and minutes.
    fn found(lessons: &[&str], minutes: u32) -> String {
        let mut course = Course::load(&CourseSource::BuiltIn).unwrap();
        course.paths = vec![LearningPath {
            id: "mine".into(),
            title: "Mine".into(),
            minutes,
            lessons: lessons.iter().map(ToString::to_string).collect(),
        }];
        let file = CourseFile::open(&CourseSource::BuiltIn, WORKSHOP).unwrap();
        let mut problems = Vec::new();
        check(&course, &file, &mut problems);
        itertools::join(problems, "; ")
    }

    /// The problems of several paths, one path a line.
    fn listed(paths: &[(&[&str], u32)]) -> String {
        let lines = paths.iter().map(|(lessons, minutes)| {
            format!("{lessons:?}, {minutes} min: {}", found(lessons, *minutes))
        });
        itertools::join(lines, "\n")
    }

    #[test]
    fn each_path_fits_in_a_line_of_the_list_at_80_columns() {
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        for (name, text) in course.paths_in_text() {
            let line = format!("{name}: {text}");
            assert!(line.chars().count() <= 68, "{line}");
        }
    }

    #[test]
    fn a_path_names_what_there_is_in_order_and_fits_in_its_minutes() {
        assert_eq!(found(&["welcome", "first-baseline"], 17), "");
        insta::assert_snapshot!(listed(&[
            (&["welcome", "first-baseline"], 16),
            (&["nowhere"], 9),
            (&["welcome/nothing"], 9),
            (&["first-baseline", "welcome"], 99),
            (&["welcome", "welcome"], 99),
        ]));
    }

    #[test]
    fn a_path_contains_the_lessons_that_it_refers_to() {
        // The question needs the output of a command that is not on the path.
        insta::assert_snapshot!(listed(&[
            (&["measure-well"], 99),
            (&["welcome/which-device"], 99)
        ]));
        assert_eq!(found(&["welcome/doctor", "welcome/which-device"], 99), "");
    }
}
