//! Tables as plain text.

use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A table whose first column gives way when the line is narrow.
#[derive(Clone, Debug, PartialEq)]
pub struct TextTable {
    pub title: String,
    pub columns: Vec<(&'static str, Align)>,
    pub rows: Vec<Vec<String>>,
    /// Below the table: where figures come from, what to make of them.
    pub notes: Vec<String>,
}

/// The first column keeps at least this many characters.
const NARROWEST_NAME: usize = 16;

impl TextTable {
    pub fn new(title: impl Into<String>, columns: &[(&'static str, Align)]) -> Self {
        TextTable {
            title: title.into(),
            columns: columns.to_vec(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The table in lines of at most `width` characters, as far as its figures fit.
    pub fn render(&self, width: usize) -> String {
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .map(|(name, _)| name.chars().count())
            .collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let figures: usize = widths.iter().skip(1).map(|width| width + 2).sum();
        if let Some(name) = widths.first_mut() {
            *name = (*name).min(width.saturating_sub(figures).max(NARROWEST_NAME));
        }
        let mut text = format!("{}\n", self.title);
        let header: Vec<String> = self
            .columns
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        self.push_row(&mut text, &header, &widths);
        for row in &self.rows {
            self.push_row(&mut text, row, &widths);
        }
        for note in &self.notes {
            push_wrapped(&mut text, note, width);
        }
        text
    }

    fn push_row(&self, text: &mut String, row: &[String], widths: &[usize]) {
        let mut line = String::new();
        for (at, (cell, &width)) in row.iter().zip(widths).enumerate() {
            if at > 0 {
                line.push_str("  ");
            }
            let cell = shortened(cell, width);
            // Writing to a string cannot fail.
            let _ = match self.columns[at].1 {
                Align::Left => write!(line, "{cell:<width$}"),
                Align::Right => write!(line, "{cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// At most `width` characters, the middle left out: both ends of a kernel's name tell it apart.
pub fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(3);
    let front = kept.div_ceil(2);
    let start: String = text.chars().take(front).collect();
    let end: String = text.chars().skip(length - (kept - front)).collect();
    format!("{start}...{end}")
}

/// `text` in lines of at most `width`, indented by two.
pub fn push_wrapped(into: &mut String, text: &str, width: usize) {
    let width = width.saturating_sub(2).max(20);
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            let _ = writeln!(into, "  {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(into, "  {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_its_width_and_keeps_its_figures() {
        let mut table = TextTable::new(
            "Kernels",
            &[("kernel", Align::Left), ("calls", Align::Right)],
        );
        table.rows.push(vec![
            "a_very_long_kernel_name_that_does_not_fit_at_all".to_owned(),
            "12345".to_owned(),
        ]);
        let text = table.render(40);
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
        assert!(text.contains("12345"), "{text}");
        assert!(text.contains("..."), "{text}");
    }
}
