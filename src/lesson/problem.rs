//! A problem of a course: file, line, column, the lines themselves, and the allowed values.

use std::fmt::{self, Write};
use std::sync::Arc;

use serde::Serialize;
use thiserror::Error;
use unicode_width::UnicodeWidthStr;

use super::locate::TextPosition;
use tinyllama_base::untrusted::is_hidden;
use tinyllama_base::{plain, wrapped};

/// Longest line that a report quotes.
const LONGEST_LINE: usize = 400;

/// One problem.
#[derive(Clone, Debug, Error, Serialize)]
#[error("{message}")]
pub struct Problem {
    pub file: String,
    /// From 1; `None` for a problem of the whole file.
    pub line: Option<usize>,
    /// From 1.
    pub column: Option<usize>,
    pub message: String,
    /// The allowed values, or advice.
    pub help: Option<String>,
    #[serde(skip)]
    text: Arc<String>,
}

/// The style of a report.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub colour: bool,
    /// True if lines and arrows outside ASCII may be used.
    pub unicode: bool,
    /// Columns of the terminal or file.
    pub width: usize,
}

const RED: u8 = 31;
const MAGENTA: u8 = 35;
const CYAN: u8 = 36;

impl Style {
    fn paint(self, colour: u8, text: &str) -> String {
        match self.colour {
            true => format!("\x1b[{colour}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

impl Problem {
    pub(super) fn new(
        file: &str,
        text: &Arc<String>,
        position: Option<TextPosition>,
        message: String,
    ) -> Self {
        let column = position.map(|position| position.column.min(LONGEST_LINE));
        Self {
            line: position.map(|position| position.line),
            column,
            message: plain(&message),
            help: None,
            text: printable(text),
            file: plain(file),
        }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(plain(&help.into()));
        self
    }

    /// The report with the lines of the problem.
    pub fn render(&self, style: Style) -> String {
        let help = self.help.as_ref().map(|help| {
            let label = style.paint(CYAN, "help:");
            format!("  {label} {help}\n")
        });
        let report = match (self.line, self.column) {
            (Some(line), Some(column)) => self.quote(style, line, column),
            // Without a quoted line, the message has to name the file.
            _ => format!("{}: {self}\n", self.file),
        };
        report + &help.unwrap_or_default()
    }

    /// The message, its line with the neighbouring lines, and a mark below the problem.
    fn quote(&self, style: Style, line: usize, column: usize) -> String {
        let [cross, bar, dots, corner, foot] = match style.unicode {
            true => ["×", "│", "·", "╭─", "╰────"],
            false => ["x", "|", ":", ",-", "`----"],
        };
        let (cross, bar) = (style.paint(RED, cross), style.paint(RED, bar));
        let message = wrapped(&self.message, style.width.saturating_sub(4).max(20));
        let mut report = format!("  {cross} {}\n", message.join(&format!("\n  {bar} ")));
        let bar = if style.unicode { "│" } else { "|" };
        let digits = (line + 1).to_string().len();
        let place = style.paint(CYAN, &format!("{}:{line}:{column}", self.file));
        let _ = writeln!(report, " {:digits$} {corner}[{place}]", "");
        let first = line.saturating_sub(1).max(1);
        let shown = self.text.lines().enumerate().skip(first - 1);
        for (index, text) in shown.take(line + 2 - first) {
            let number = index + 1;
            let _ = writeln!(report, " {number:digits$} {bar} {text}");
            if number == line {
                let [under, label] = underline(text, column, style);
                let _ = writeln!(report, " {:digits$} {dots} {under}", "");
                let _ = writeln!(report, " {:digits$} {dots} {label}", "");
            }
        }
        let _ = writeln!(report, " {:digits$} {foot}", "");
        report
    }
}

/// Two lines below a text: a line from `column` to its end, and a word that points at it.
fn underline(text: &str, column: usize, style: Style) -> [String; 2] {
    let [line, branch, hook] = match style.unicode {
        true => ["─", "┬", "╰── here"],
        false => ["^", "|", "`-- here"],
    };
    let start = text.char_indices().nth(column - 1);
    let (before, meant) = text.split_at(start.map_or(text.len(), |(at, _)| at));
    let width = meant.width().max(1);
    let (left, right) = (width / 2, width - width / 2 - 1);
    let under = format!("{}{branch}{}", line.repeat(left), line.repeat(right));
    [
        " ".repeat(before.width()) + &style.paint(MAGENTA, &under),
        " ".repeat(before.width() + left) + &style.paint(MAGENTA, hook),
    ]
}

/// The text without terminal control characters, and with its lines cut to a length that can be shown.
fn printable(text: &Arc<String>) -> Arc<String> {
    let is_command = |c: char| c.is_control() && c != '\n' || is_hidden(c);
    let is_long = |line: &str| line.len() > LONGEST_LINE;
    if !text.contains(is_command) && !text.lines().any(is_long) {
        return Arc::clone(text);
    }
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        let start = line.trim_end_matches('\n').chars().take(LONGEST_LINE);
        // One character replaces one, so that positions in the text stay valid.
        shown.extend(start.map(|c| if is_command(c) { '?' } else { c }));
        shown.push('\n');
    }
    Arc::new(shown)
}

/// All problems of a course; at least one.
#[derive(Clone, Debug, Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            let separator = if i > 0 { "\n" } else { "" };
            let place = match (problem.line, problem.column) {
                (Some(line), Some(column)) => format!(":{line}:{column}"),
                _ => String::new(),
            };
            write!(f, "{separator}{}{place}: {problem}", problem.file)?;
            if let Some(help) = &problem.help {
                write!(f, " ({help})")?;
            }
        }
        Ok(())
    }
}
