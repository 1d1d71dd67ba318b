//! Tables as plain text.

use unicode_truncate::UnicodeTruncateStr;
use unicode_width::UnicodeWidthStr;

use crate::columns::{Align, Column, ColumnLayout, row_text};
use crate::untrusted;
use crate::wrap::{push_wrapped, wrapped};

/// A table that fits lines of any width. The first column shrinks first, then text wraps. Columns that still do not
/// fit follow in blocks below.
#[derive(Clone, Debug, PartialEq)]
pub struct TextTable {
    pub title: String,
    pub columns: Vec<(&'static str, Align)>,
    pub rows: Vec<Vec<String>>,
    /// Lines below the table: where numbers come from, and how to read them.
    pub notes: Vec<String>,
}

/// Shown in a cell without a number.
const NO_FIGURE: &str = "-";

/// A cell's text; `None` if nothing was reported.
type CellText = Option<String>;

/// Builds a table of things, column by column. A column without any reported value is left out and named in a note.
pub struct TableColumns<'a, T> {
    pub things: &'a [T],
    table: TextTable,
    left_out: Vec<&'static str>,
}

impl<'a, T> TableColumns<'a, T> {
    pub fn titled(title: impl Into<String>, things: &'a [T]) -> Self {
        let mut table = TextTable::new(title, &[]);
        table.rows = vec![vec![]; things.len()];
        TableColumns {
            things,
            table,
            left_out: Vec::new(),
        }
    }

    /// Keeps only the first `limit` rows.
    pub fn first(mut self, limit: usize) -> Self {
        self.things = &self.things[..self.things.len().min(limit)];
        self.table.rows.truncate(limit);
        self
    }

    /// Adds a text column.
    pub fn left<C: Into<Option<String>>>(self, name: &'static str, cell: impl Fn(&T) -> C) -> Self {
        self.column(name, Align::Left, cell)
    }

    /// Adds a column of numbers.
    pub fn right<C: Into<CellText>>(self, name: &'static str, cell: impl Fn(&T) -> C) -> Self {
        self.column(name, Align::Right, cell)
    }

    fn column<C: Into<CellText>>(
        mut self,
        name: &'static str,
        align: Align,
        cell: impl Fn(&T) -> C,
    ) -> Self {
        let cells: Vec<CellText> = self.things.iter().map(|it| cell(it).into()).collect();
        if !cells.is_empty() && cells.iter().all(Option::is_none) {
            self.left_out.push(name);
            return self;
        }
        self.table.columns.push((name, align));
        for (row, cell) in self.table.rows.iter_mut().zip(cells) {
            row.push(cell.unwrap_or_else(|| NO_FIGURE.to_owned()));
        }
        self
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.table.note(note);
        self
    }

    pub fn notes(self, notes: &[&str]) -> Self {
        notes.iter().fold(self, |columns, note| columns.note(*note))
    }
}

impl<T> From<TableColumns<'_, T>> for TextTable {
    fn from(columns: TableColumns<'_, T>) -> Self {
        let TableColumns {
            mut table,
            left_out,
            ..
        } = columns;
        if !left_out.is_empty() {
            table.note(format!("not reported: {}", left_out.join(", ")));
        }
        table
    }
}

impl TextTable {
    pub fn new(title: impl Into<String>, columns: &[(&'static str, Align)]) -> Self {
        TextTable {
            title: title.into(),
            columns: columns.to_vec(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Renders the table in lines of at most `width` characters, unless a single number is longer. Names may come
    /// from untrusted files, so control characters and line breaks are made visible.
    pub fn render(&self, width: usize) -> String {
        let plain = |texts: &Vec<String>| texts.iter().map(|text| untrusted::plain(text)).collect();
        let shown = TextTable {
            title: untrusted::plain(&self.title),
            columns: self.columns.clone(),
            rows: self.rows.iter().map(plain).collect(),
            notes: plain(&self.notes),
        };
        shown.lay_out(width)
    }

    fn lay_out(&self, width: usize) -> String {
        let mut text = format!("{}\n", self.title);
        let titles: Vec<&str> = self.columns.iter().map(|(title, _)| *title).collect();
        let rows = self.rows.iter();
        let names = rows
            .clone()
            .map(|row| row.first().map_or("", String::as_str));
        let names: Vec<&str> = names.collect();
        let cells = rows.map(|row| row.iter().map(String::as_str));
        let layout = ColumnLayout::from_texts(self.columns.iter().copied(), cells);
        for block in layout.blocks(width) {
            let wide = block.first().map_or(0, |column| column.width);
            let names = shortened_apart(&names, wide, "...", |name| shortened(name, wide));
            push_row(&mut text, &titles, &block);
            for (row, name) in self.rows.iter().zip(&names) {
                let cells = std::iter::once(name).chain(row.iter().skip(1));
                let cells: Vec<&str> = cells.map(String::as_str).collect();
                push_row(&mut text, &cells, &block);
            }
        }
        for note in &self.notes {
            push_wrapped(&mut text, note, width);
        }
        text
    }
}

/// Appends the cells of a block's columns, in as many lines as the longest text needs.
fn push_row(text: &mut String, row: &[&str], block: &[Column]) {
    let cells = block.iter().map(|column| {
        let cell = row.get(column.index).copied().unwrap_or("");
        match column.is_text() && column.index > 0 {
            true => wrapped(cell, column.width),
            false => vec![cell.to_owned()],
        }
    });
    let cells: Vec<Vec<String>> = cells.collect();
    for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
        let cells = block.iter().zip(&cells).map(|(column, lines)| {
            let cell = lines.get(line).map_or("", String::as_str);
            shortened(cell, column.width)
        });
        let cells: Vec<String> = cells.collect();
        text.push_str(&row_text(block, cells.iter().map(String::as_str)));
        text.push('\n');
    }
}

/// Cuts `text` to at most `most` columns and puts `ellipsis` behind it if it was longer.
pub fn cut(text: &str, most: usize, ellipsis: &str) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let (kept, _) = text.unicode_truncate(most.saturating_sub(ellipsis.width()));
    let (end, _) = ellipsis.unicode_truncate(most);
    format!("{kept}{end}")
}

/// Cuts `text` to at most `most` columns and keeps both ends, because both ends of a kernel's name matter.
pub fn cut_middle(text: &str, most: usize, ellipsis: &str) -> String {
    let room = most.saturating_sub(ellipsis.width());
    if room < 6 || text.width() <= most {
        return cut(text, most, ellipsis);
    }
    let (front, _) = text.unicode_truncate(room.div_ceil(2));
    let (back, _) = text.unicode_truncate_start(room / 2);
    format!("{front}{ellipsis}{back}")
}

/// Cuts text for a file or a pipe, whose characters may all be ASCII.
pub fn shortened(text: &str, width: usize) -> String {
    cut_middle(text, width, "...")
}

/// Shortens names to `width` characters by `shorten`. Of different names that then look alike, it shows the part that
/// tells each from the one most like it, behind its beginning and `gap`.
pub fn shortened_apart(
    names: &[&str],
    width: usize,
    gap: &str,
    shorten: impl Fn(&str) -> String,
) -> Vec<String> {
    const BEGINNING: usize = 3;
    let short: Vec<String> = names.iter().map(|name| shorten(name)).collect();
    let apart = |(name, this): (&&str, &String)| {
        let twins = names
            .iter()
            .zip(&short)
            .filter(|(twin, short)| *short == this && *twin != name);
        let same = |twin: &str| {
            name.chars()
                .zip(twin.chars())
                .take_while(|(a, b)| a == b)
                .count()
        };
        let same = twins.map(|(twin, _)| same(twin)).max()?;
        let letters: Vec<char> = name.chars().collect();
        let room = width.saturating_sub(BEGINNING + gap.chars().count());
        // The word in which they differ is shown from its beginning, if that leaves the difference in sight.
        let word = letters[..same]
            .iter()
            .rposition(|c| !c.is_alphanumeric())
            .map_or(0, |at| at + 1);
        let from = if same - word < room { word } else { same };
        let from = from.min(letters.len().saturating_sub(room)).max(BEGINNING);
        let parts = [
            &letters[..BEGINNING.min(letters.len())],
            &letters[from.min(letters.len())..],
        ];
        let [beginning, end] =
            parts.map(|part| part.iter().take(room.max(BEGINNING)).collect::<String>());
        Some(format!("{beginning}{gap}{end}"))
    };
    names
        .iter()
        .zip(&short)
        .map(|each| apart(each).unwrap_or_else(|| each.1.clone()))
        .collect()
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

    struct Run {
        name: &'static str,
        ms: Option<f64>,
        finding: &'static str,
    }

    const RUNS: [Run; 2] = [
        Run {
            name: "v1",
            ms: Some(12.5),
            finding: "",
        },
        Run {
            name: "v2 --graph-fusion=off",
            ms: None,
            finding: "too noisy: 12 further rounds should settle it, as far as one can tell",
        },
    ];

    fn runs() -> TableColumns<'static, Run> {
        TableColumns::titled("Runs", &RUNS)
            .left("", |run| run.name.to_owned())
            .right("step ms", |run| run.ms.map(|ms| format!("{ms:.1}")))
            .right("memory", |_| None)
    }

    #[test]
    fn names_that_are_shortened_still_differ() {
        let columns = [
            ("learner", Align::Left),
            ("at", Align::Left),
            ("done", Align::Right),
        ];
        let mut table = TextTable::new("", &columns);
        for middle in ["alexander", "andreas", "antonia"] {
            let name = format!("maximilian-{middle}-mustermann");
            let at = "first-baseline/baseline of the course".to_owned();
            table.rows.push(vec![name, at, "1/255".into()]);
        }
        let text = table.render(50);
        assert!(
            text.lines().all(|line| line.chars().count() <= 50),
            "{text}"
        );
        for name in ["max...alexander", "max...andreas", "max...antonia"] {
            assert!(text.contains(name), "{text}");
        }
        // Where the difference is further on than there is room for.
        let far = [
            "a".repeat(40) + "x" + &"b".repeat(40),
            "a".repeat(40) + "y" + &"b".repeat(40),
        ];
        let far = far.each_ref().map(String::as_str);
        let shown = shortened_apart(&far, 12, "…", |name| shortened(name, 12));
        assert_eq!(shown, ["aaa…xbbbbbbb", "aaa…ybbbbbbb"]);
        let same = shortened_apart(&["twice", "twice"], 4, "…", |name| shortened(name, 4));
        assert_eq!(same, ["t...", "t..."]);
    }

    #[test]
    fn a_column_that_nothing_was_reported_for_is_left_out_and_named() {
        let text = TextTable::from(runs()).render(80);
        assert!(
            !text
                .lines()
                .nth(1)
                .is_some_and(|head| head.contains("memory")),
            "{text}"
        );
        assert!(text.contains("not reported: memory"), "{text}");
        assert!(
            text.lines()
                .any(|line| line.starts_with("v2") && line.ends_with('-')),
            "{text}"
        );
    }

    #[test]
    fn words_are_broken_and_columns_without_room_follow_below() {
        let words = runs().left("finding", |run| run.finding.to_owned());
        let text = TextTable::from(words).render(60);
        assert!(
            text.lines().all(|line| line.chars().count() <= 60),
            "{text}"
        );
        assert_eq!(text.matches("v2 --graph-fusion=off").count(), 1, "{text}");
        let many = (0..6).fold(runs(), |table, _| {
            table.right("a long heading", |_| "123456.789".to_owned())
        });
        let text = TextTable::from(many).render(60);
        assert!(
            text.lines().all(|line| line.chars().count() <= 60),
            "{text}"
        );
        assert_eq!(text.matches("123456.789").count(), 12, "{text}");
        assert!(text.matches("v2 --").count() > 1, "{text}");
    }
}
