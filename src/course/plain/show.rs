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
    let theme = Theme::new(true, options.ascii);
    let lines = markdown::render(text, WIDTH, &theme, None);
    let lines = lines.iter().map(ToString::to_string);
    itertools::join(lines.map(|line| line.trim_end().to_string()), "\n")
}

/// Numbered sessions and lessons, with their state as text.
pub fn outline(course: &Course, state: &SessionState) -> String {
    let mut text = String::new();
    let mut number = 0;
    for session in &course.sessions {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} ({} min)", session.title, session.minutes);
        for lesson in session.lessons.iter().filter_map(|id| course.lesson(id)) {
            number += 1;
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
