//! What a command prints for people.

use std::fmt::{self, Display, Write};
use std::io::{self, IsTerminal};

use tinyllama_base::locale;
use tinyllama_base::statistics::Interval;
use tinyllama_base::table::{Columns, TextTable, push_wrapped};
use tinyllama_course::analysis::relative::factor;
use tinyllama_course::analysis::workshop::Confronted;

/// Lines and tables for a terminal.
#[derive(Debug)]
pub struct Page {
    /// Columns to print in.
    pub width: usize,
    text: String,
}

/// Columns that a page of the tutor loses to its frame and margins.
const FRAME: u16 = 6;

impl Default for Page {
    /// As wide as the terminal, or wide enough for every table where there is none.
    fn default() -> Self {
        let width = match (io::stdout().is_terminal(), locale::screen()) {
            (true, _) => console::Term::stdout().size().1,
            (false, Some((columns, _))) => columns.saturating_sub(FRAME),
            (false, None) => 120,
        };
        let width = usize::from(width);
        Page {
            width,
            text: String::new(),
        }
    }
}

impl Page {
    pub fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    /// Below an empty line.
    pub fn table(&mut self, table: impl Into<TextTable>) {
        let text = table.into().render(self.width);
        self.line(format_args!("\n{}", text.trim_end()));
    }

    /// A table that nothing stands above.
    pub fn first_table(&mut self, table: impl Into<TextTable>) {
        let text = table.into().render(self.width);
        self.line(text.trim_end());
    }

    /// Indented, in as many lines as it takes.
    pub fn paragraph(&mut self, text: &str) {
        push_wrapped(&mut self.text, text, self.width);
    }
}

impl Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A bar of at most `width` characters for `share` (0 to 1) of it.
pub fn bar(share: f64, width: usize, glyph: char) -> String {
    let length = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    std::iter::repeat_n(glyph, length).collect()
}

/// `1 round`, `3 rounds`.
pub fn range(values: &[f64]) -> Option<String> {
    let values = values.iter().copied();
    let (least, most) = (
        values.clone().reduce(f64::min)?,
        values.clone().reduce(f64::max)?,
    );
    (values.len() > 1).then(|| format!("{least:.3} to {most:.3}"))
}

/// Of a time over a time, as how many times faster.
pub fn interval(interval: &Interval) -> String {
    let (low, high) = (1.0 / interval.high, 1.0 / interval.low);
    format!("{} to {}", factor(low), factor(high))
}

/// What the workshop states, and the same measured here.
pub fn workshop_table(confronted: &[Confronted], notes: &[&str]) -> TextTable {
    let title = "The workshop's figures beside this machine's";
    Columns::of(title, confronted)
        .left("", |claim| claim.what.clone())
        .left("version", |claim| claim.version.clone())
        .right("workshop", |claim| claim.workshop.clone())
        .right("measured", |claim| claim.measured_text.clone())
        .left("where in the workshop", |claim| claim.source.to_string())
        .notes(notes)
        .into()
}
