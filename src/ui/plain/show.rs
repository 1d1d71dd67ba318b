//! Formats texts as plain lines.

use std::fmt::Write;

use console::Term;
use unicode_width::UnicodeWidthStr;

use crate::tui::{self, Theme, markdown};
use tinyllama_base::wrap::{NO_BREAK, wrapped};
use tinyllama_lesson::Course;
use tinyllama_session::progress::progress;
use tinyllama_session::{Access, SessionState, access};
use tinyllama_tutor_core::{TutorOptions, say};

/// Most columns of the text.
pub const WIDTH: usize = 78;

/// Longer lines of a command's output are hard to read.
pub const LONGEST_LINE: usize = tui::LONGEST_LINE as usize;

/// Columns of the terminal on standard output; `None` for a pipe or a file, whose lines stay whole.
pub fn terminal_columns() -> Option<usize> {
    let size = Term::stdout().size_checked()?;
    Some(usize::from(size.1).max(1))
}

/// Columns for text, of at most `most`.
pub fn width(most: usize) -> usize {
    terminal_columns().map_or(most, |columns| columns.min(most))
}

/// Markdown as lines for `folded`: the words of commands are joined.
pub fn markdown(options: &TutorOptions, text: &str) -> String {
    joined_lines(text, width(WIDTH), options.ascii, false)
}

/// Joins the words of a command, so that [`folded`] keeps it in one line.
pub fn joined(command: &str) -> String {
    command.replace(' ', &NO_BREAK.to_string())
}

/// Text for standard output. A terminal gets lines of its width, or of a comfortable one, and commands in one piece;
/// everything else gets the lines as they are.
pub fn for_terminal(text: &str) -> String {
    folded_for_terminal(&with_joined_code(text))
}

/// Breaks sentences into lines of at most `columns`, and keeps commands in one piece.
pub fn folded_prose(text: &str, columns: usize) -> String {
    folded(&with_joined_code(text), columns)
}

/// Like [`for_terminal`], for text whose commands are joined.
pub fn folded_for_terminal(text: &str) -> String {
    match terminal_columns() {
        Some(columns) => folded(text, columns),
        None => text.replace(NO_BREAK, " "),
    }
}

/// Markdown for standard output: laid out for a terminal, and as it is for everything else.
pub fn markdown_for_terminal(text: &str, ascii: bool) -> String {
    match terminal_columns() {
        Some(columns) => folded(
            &joined_lines(text, columns.min(WIDTH), ascii, true),
            columns,
        ),
        None => text.to_owned(),
    }
}

/// Joins the words of code: between backticks, between fences, or indented after an empty line.
fn with_joined_code(text: &str) -> String {
    let (mut is_fenced, mut was_code, mut was_empty) = (false, false, true);
    let lines = text.split('\n').map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        let is_indented = line.starts_with("    ") && (was_empty || was_code);
        was_code = is_fenced || is_fence || is_indented;
        was_empty = line.trim().is_empty();
        if was_code {
            return joined(line);
        }
        let pairs = line.matches('`').count() / 2;
        let parts =
            line.split('`')
                .enumerate()
                .map(|(at, part)| match at % 2 == 1 && at < 2 * pairs {
                    true => joined(part),
                    false => part.to_owned(),
                });
        itertools::join(parts, "`")
    });
    itertools::join(lines, "\n")
}

/// Breaks lines that are wider than `columns` between words, and sentences at a comfortable width. What goes on stands
/// below the last column of the line's indentation, or below the text behind the name at its start.
pub fn folded(text: &str, columns: usize) -> String {
    let lines = text.split('\n').flat_map(|line| {
        // The rows of a table have gaps, and may be as wide as the terminal.
        let columns = match line.trim().contains("  ") {
            true => columns,
            false => columns.min(LONGEST_LINE),
        };
        if line.width() <= columns {
            return vec![line.to_owned()];
        }
        let indent = line.len() - line.trim_start().len();
        let named = line[indent..].find("  ").map(|gap| indent + gap);
        let named = named.map(|gap| line.len() - line[gap..].trim_start().len());
        let lead = named.filter(|lead| *lead < columns / 2).unwrap_or(indent);
        let (lead, rest) = line.split_at(if lead < columns { lead } else { 0 });
        let below = " ".repeat(lead.width());
        let lines = wrapped(rest, columns - below.len()).into_iter().enumerate();
        let lines = lines.map(|(at, text)| match at {
            0 => format!("{lead}{text}"),
            _ => format!("{below}{text}"),
        });
        lines.collect()
    });
    itertools::join(lines, "\n").replace(NO_BREAK, " ")
}

/// Markdown as lines of at most `width` columns, without colours. Commands may exceed it.
pub fn render(text: &str, width: usize, ascii: bool) -> String {
    joined_lines(text, width, ascii, false).replace(NO_BREAK, " ")
}

fn joined_lines(text: &str, width: usize, ascii: bool, marks: bool) -> String {
    let theme = Theme::new(true, ascii);
    let width = u16::try_from(width).unwrap_or(u16::MAX);
    let lines = markdown::render_lines(text, width, &theme, marks);
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
                say::minutes(&done, lesson, state)
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
