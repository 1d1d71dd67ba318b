//! What is wrong with a course: file, line, column, the lines themselves and what may stand there.

use std::fmt;
use std::sync::Arc;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
    SourceOffset,
};
use serde::Serialize;
use thiserror::Error;

use super::locate::Position;
use tinyllama_base::foreign::is_hidden;
use tinyllama_base::plain;

/// Longest line that a report quotes; miette cannot count beyond 65 535 columns.
const LONGEST_LINE: usize = 400;

/// One thing that is wrong.
#[derive(Clone, Debug, Error, Serialize)]
#[error("{message}")]
pub struct Problem {
    pub file: String,
    /// From 1; none where the whole file is meant.
    pub line: Option<usize>,
    /// From 1.
    pub column: Option<usize>,
    pub message: String,
    /// What is allowed, or what to do.
    pub help: Option<String>,
    /// Boxed, since problems travel as errors.
    #[serde(skip)]
    source_text: Box<NamedSource<Arc<String>>>,
}

/// How a report may look.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub colour: bool,
    /// Lines and arrows outside ASCII.
    pub unicode: bool,
    /// Columns of the terminal or file.
    pub width: usize,
}

impl Problem {
    pub(super) fn new(
        file: &str,
        text: &Arc<String>,
        position: Option<Position>,
        message: String,
    ) -> Self {
        let (file, text) = (plain(file), printable(text));
        let column = position.map(|position| position.column.min(LONGEST_LINE));
        Self {
            line: position.map(|position| position.line),
            column,
            message: plain(&message),
            help: None,
            source_text: Box::new(NamedSource::new(&file, text).with_language("yaml")),
            file,
        }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(plain(&help.into()));
        self
    }

    /// The report with the offending lines.
    pub fn render(&self, style: Style) -> String {
        let theme = match (style.unicode, style.colour) {
            (true, true) => GraphicalTheme::unicode(),
            (true, false) => GraphicalTheme::unicode_nocolor(),
            (false, true) => GraphicalTheme::ascii(),
            (false, false) => GraphicalTheme::none(),
        };
        let Some(_) = self.line else {
            // Nothing is quoted that would name the file.
            let help = self.help.as_ref().map(|help| format!("\n  help: {help}"));
            return format!("{}: {self}{}\n", self.file, help.unwrap_or_default());
        };
        let mut report = String::new();
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(style.width)
            .with_links(false);
        match handler.render_report(&mut report, self) {
            Ok(()) => report,
            Err(fmt::Error) => format!("{self}\n"),
        }
    }

    fn text(&self) -> &str {
        self.source_text.inner().as_str()
    }
}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.line.map(|_| &*self.source_text as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let start = SourceOffset::from_location(self.text(), self.line?, self.column?).offset();
        let rest = self.text().get(start..)?;
        let length = rest.find('\n').unwrap_or(rest.len()).max(1).min(rest.len());
        let label = LabeledSpan::new(Some("here".into()), start, length);
        Some(Box::new(std::iter::once(label)))
    }
}

/// The same text, as far as it is no command to a terminal and its lines are no longer than can be shown.
fn printable(text: &Arc<String>) -> Arc<String> {
    let is_command = |c: char| c.is_control() && c != '\n' || is_hidden(c);
    let is_long = |line: &str| line.len() > LONGEST_LINE;
    if !text.contains(is_command) && !text.lines().any(is_long) {
        return Arc::clone(text);
    }
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        let start = line.trim_end_matches('\n').chars().take(LONGEST_LINE);
        // One for one: places in the text stay what they are.
        shown.extend(start.map(|c| if is_command(c) { '?' } else { c }));
        shown.push('\n');
    }
    Arc::new(shown)
}

/// Everything that is wrong with a course; at least one problem.
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
