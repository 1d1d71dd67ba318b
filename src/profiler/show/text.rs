//! Tables and figures as plain text.

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

/// A time with the unit that suits it.
pub fn time(ns: f64) -> String {
    match ns.abs() {
        ns_abs if ns_abs < 1e3 => format!("{ns:.0} ns"),
        ns_abs if ns_abs < 1e6 => format!("{:.2} us", ns / 1e3),
        ns_abs if ns_abs < 1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.3} s", ns / 1e9),
    }
}

/// Bytes with the unit that suits them, powers of 1024.
pub fn bytes(bytes: f64) -> String {
    const UNITS: &[&str] = &["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{value:.0} {}", UNITS[0]),
        _ => format!("{value:.2} {}", UNITS[unit]),
    }
}

pub fn percent(percent: f64) -> String {
    format!("{percent:.1}%")
}

/// Four significant digits.
pub fn figure(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let decimals = match size {
        size if size >= 1000.0 || value.fract() == 0.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// A figure, or `not reported`.
pub fn or_not_reported(value: Option<String>) -> String {
    value.unwrap_or_else(|| "not reported".to_owned())
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

    #[test]
    fn times_and_sizes_get_a_unit_that_suits_them() {
        assert_eq!(time(999.0), "999 ns");
        assert_eq!(time(20_480.0), "20.48 us");
        assert_eq!(time(1.5e9), "1.500 s");
        assert_eq!(bytes(8.0 * 1024.0 * 1024.0), "8.00 MiB");
        assert_eq!(figure(0.0), "0");
        assert_eq!(figure(12.345), "12.35");
    }
}
