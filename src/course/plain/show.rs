//! Formats texts as plain lines.

use std::fmt::Write;

use console::Term;
use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

use crate::lesson::Course;
use crate::session::progress::progress;
use crate::session::{Access, SessionState, access};
use crate::tui::markdown::wrap::hanging;
use crate::tui::{Theme, markdown};
use crate::tutor::{TutorOptions, say};

/// Most columns of the text.
pub const WIDTH: usize = 78;

/// Columns of the terminal on standard output; `None` for a pipe or a file, whose lines stay whole.
pub fn terminal_columns() -> Option<usize> {
    let size = Term::stdout().size_checked()?;
    Some(usize::from(size.1).max(1))
}

/// Columns for text, of at most `most`.
pub fn width(most: usize) -> usize {
    terminal_columns().map_or(most, |columns| columns.min(most))
}

pub fn markdown(options: &TutorOptions, text: &str) -> String {
    render(text, width(WIDTH), options.ascii)
}

/// Breaks lines that are wider than `columns` between words. What goes on stands below the last column of the line's
/// indentation, or below the text behind the name at its start.
pub fn folded(text: &str, columns: usize) -> String {
    let lines = text.split('\n').flat_map(|line| {
        if line.width() <= columns {
            return vec![line.to_owned()];
        }
        let indent = line.len() - line.trim_start().len();
        let named = line[indent..].find("  ").map(|gap| indent + gap);
        let named = named.map(|gap| line.len() - line[gap..].trim_start().len());
        let lead = named.filter(|lead| *lead < columns / 2).unwrap_or(indent);
        let (lead, rest) = line.split_at(if lead < columns { lead } else { 0 });
        let below = Span::raw(" ".repeat(lead.width()));
        let lines = hanging(
            vec![Span::raw(lead.to_owned())],
            below,
            vec![Span::raw(rest.to_owned())],
            columns,
        );
        lines.iter().map(ToString::to_string).collect()
    });
    itertools::join(lines, "\n")
}

/// Markdown as lines of at most `width` columns, without colours.
pub fn render(text: &str, width: usize, ascii: bool) -> String {
    let theme = Theme::new(true, ascii);
    let width = u16::try_from(width).unwrap_or(u16::MAX);
    let lines = markdown::render(text, width, &theme, None);
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
