//! A command's output for people.

use std::fmt::{self, Display, Write};
use std::io::{self, IsTerminal};

use itertools::Itertools as _;
use tinyllama_analysis::workshop::ClaimComparison;
use tinyllama_base::statistics::Interval;
use tinyllama_base::{TableColumns, TextTable, push_wrapped};
use tinyllama_base::{factor, locale};
use tinyllama_ui::plain::LONGEST_LINE;

/// Lines and tables for a terminal.
#[derive(Debug)]
pub struct AnalysisPage {
    /// Width in columns.
    pub width: usize,
    text: String,
}

/// Columns that the frame and margins of the tutor's page need.
const FRAME: u16 = 6;

impl Default for AnalysisPage {
    /// As wide as the terminal, or wide enough for every table without one.
    fn default() -> Self {
        let width = match (io::stdout().is_terminal(), locale::screen()) {
            (true, _) => console::Term::stdout().size().1,
            (false, Some((columns, _))) => columns.saturating_sub(FRAME),
            (false, None) => 120,
        };
        let width = usize::from(width);
        AnalysisPage {
            width,
            text: String::new(),
        }
    }
}

impl AnalysisPage {
    /// Columns of a table of names. Without a terminal, no name is shortened and no line is broken.
    pub fn widest(&self) -> usize {
        match io::stdout().is_terminal() {
            true => self.width,
            false => usize::MAX,
        }
    }

    pub fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    /// Appends an empty line and a table.
    pub fn table(&mut self, table: impl Into<TextTable>) {
        let text = table.into().render(self.width);
        self.line(format_args!("\n{}", text.trim_end()));
    }

    /// Appends a table without an empty line before it.
    pub fn first_table(&mut self, table: impl Into<TextTable>) {
        let text = table.into().render(self.width);
        self.line(text.trim_end());
    }

    /// Appends an indented, wrapped paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let width = match io::stdout().is_terminal() {
            true => self.width.min(LONGEST_LINE),
            false => self.width,
        };
        push_wrapped(&mut self.text, text, width);
    }
}

impl Display for AnalysisPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A bar with the length `share` (0 to 1) of `width` characters.
pub fn bar(share: f64, width: usize, glyph: char) -> String {
    let length = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    std::iter::repeat_n(glyph, length).collect()
}

/// The smallest and largest of several values: `1.234 to 1.240`. `None` for fewer than two.
pub fn range(values: &[f64]) -> Option<String> {
    let (least, most) = values.iter().minmax().into_option()?;
    (values.len() > 1).then(|| format!("{least:.3} to {most:.3}"))
}

/// Formats the interval of a ratio of times as a speed-up.
pub fn interval(interval: &Interval) -> String {
    let (low, high) = (1.0 / interval.high, 1.0 / interval.low);
    format!("{} to {}", factor(low), factor(high))
}

/// A table of the workshop's figures and the same figures measured here.
pub fn workshop_table(confronted: &[ClaimComparison], notes: &[&str]) -> TextTable {
    let title = "The workshop's figures and this machine's";
    TableColumns::titled(title, confronted)
        .left("", |claim| claim.what.clone())
        .left("version", |claim| claim.version.clone())
        .right("workshop", |claim| claim.workshop.clone())
        .right("measured", |claim| claim.measured_text.clone())
        .left("where in the workshop", |claim| claim.source.to_string())
        .notes(notes)
        .into()
}
