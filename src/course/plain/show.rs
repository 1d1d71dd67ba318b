//! Formats texts as plain lines.

use std::fmt::Write;

use crate::lesson::Course;
use crate::session::progress::progress;
use crate::session::{Access, SessionState, access};
use crate::tui::{Theme, markdown};
use crate::tutor::{TutorOptions, say};

/// Columns of the text.
const WIDTH: u16 = 78;

pub fn markdown(options: &TutorOptions, text: &str) -> String {
    render(text, options.ascii)
}

/// Markdown as lines without colours.
pub fn render(text: &str, ascii: bool) -> String {
    let theme = Theme::new(true, ascii);
    let lines = markdown::render(text, WIDTH, &theme, None);
    let lines = lines.iter().map(ToString::to_string);
    itertools::join(lines.map(|line| line.trim_end().to_string()), "\n")
}

/// Numbered sessions and lessons, with their state as text.
pub fn outline(course: &Course, state: &SessionState) -> String {
    let mut text = String::new();
    if let Some(path) = &state.path {
        let (minutes, _, done, of) = say::course_progress(course, state);
        let spent = say::whole_minutes(minutes);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}: {done} of {of} lessons, {spent} of {} min",
            path.title, path.minutes
        );
    }
    let mut number = 0;
    for session in &course.sessions {
        let _ = writeln!(text, "{} ({} min)", session.title, session.minutes);
        for lesson in session.lessons.iter().filter_map(|id| course.lesson(id)) {
            number += 1;
            if !state.is_on_path(lesson) {
                let _ = writeln!(
                    text,
                    "  {number}. {} ({}), not on your path",
                    lesson.title, lesson.id
                );
                continue;
            }
            let done = progress(state, lesson);
            let how = match access(course, state, lesson) {
                Access::Locked(missing) => say::requires(course, &missing),
                Access::Open if done.is_finished() => "done".into(),
                Access::Open => format!("{} of {} steps", done.finished, done.count),
            };
            let _ = writeln!(
                text,
                "  {number}. {} ({}), {}, {}: {how}",
                lesson.title,
                lesson.id,
                lesson.level.name(),
                say::minutes(&done, lesson.minutes)
            );
        }
        for planned in &session.planned {
            let _ = writeln!(
                text,
                "  -  {} (coming, {} min)",
                planned.title, planned.minutes
            );
        }
    }
    text.trim_end().to_string()
}
