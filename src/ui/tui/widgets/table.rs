//! A table that fits its width: the first column shrinks, and columns without room are reached by scrolling right.

mod order;

use ratatui::prelude::{Line, Span, Style};

use super::text::{aligned, cut_middle};
use crate::tui::{Cursor, Pane, Snippet, Theme, Tone, bar, first_shown};
use tinyllama_base::columns::{Column, ColumnLayout, GAP, ScrolledColumns};
use tinyllama_base::table::shortened_apart;
use tinyllama_base::{Align, TextTable, wrapped};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pub text: String,
    pub tone: Tone,
}

impl Cell {
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Cell {
            text: text.into(),
            tone,
        }
    }

    /// A cell with a figure, or with the sign for a missing one.
    pub fn figure(text: Option<String>) -> Self {
        match text {
            Some(text) => Cell::new(text, Tone::Plain),
            None => Cell::new(super::text::NOT_REPORTED, Tone::Muted),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::new(text, Tone::Plain)
    }
}

/// Columns of a name in a table with bars.
const LONGEST_NAME: usize = 40;

/// Narrower bars show too little.
const LEAST_BAR: usize = 8;

#[derive(Clone, Debug, Default)]
pub struct TableView {
    pub columns: Vec<(String, Align)>,
    pub rows: Vec<Vec<Cell>>,
    /// A value of each row, for its bar.
    pub values: Vec<f64>,
    /// The selected row; it is always visible.
    pub selected: Option<usize>,
    /// Number of columns after the first that are scrolled past.
    pub shift: usize,
    /// Indices of the rows to show, in their order, if they are not all or have another order.
    shown: Option<Vec<usize>>,
    marked: Vec<usize>,
    filter: String,
    /// Texts go on in further lines instead of being cut.
    folds: bool,
}

/// Stands after the title of the column by which a table is sorted.
const SORTED: &str = " *";

impl TableView {
    pub fn new(columns: &[(&str, Align)]) -> Self {
        TableView {
            columns: columns
                .iter()
                .map(|(title, align)| ((*title).to_owned(), *align))
                .collect(),
            ..TableView::default()
        }
    }

    /// Converts a plain-text table.
    pub fn from_text(table: &TextTable) -> Self {
        let mut view = TableView::new(&table.columns);
        view.rows = table
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| cell.as_str().into()).collect())
            .collect();
        view
    }

    /// Sets the selected row and the shift from a cursor, and sorts and filters as the cursor says.
    pub fn with_cursor(mut self, cursor: &Cursor) -> Self {
        let last = self.rows.len().checked_sub(1);
        self.selected = last.map(|last| cursor.row.min(last));
        self.shift = cursor.shift;
        self.marked = self.marked(cursor);
        if cursor.order.is_some() || !cursor.filter.is_empty() {
            let shown = self.shown_rows(cursor);
            self.selected = self.selected.filter(|row| shown.contains(row));
            self.shown = Some(shown);
            self.filter.clone_from(&cursor.filter);
        }
        if let Some((title, _)) = cursor.order.and_then(|at| self.columns.get_mut(at)) {
            title.push_str(SORTED);
        }
        self
    }

    /// Shows all of every text, in further lines where its column is too narrow.
    pub fn folded(mut self) -> Self {
        self.folds = true;
        self
    }

    /// Adds a bar for the value of each row. The longest bar fills the columns that are left of `room`.
    /// Names may be cut for it, because the full name of the selected row stands below.
    pub fn with_bars(mut self, room: usize, theme: &Theme) -> Self {
        let greatest = self.values.iter().copied().fold(0.0, f64::max);
        let layout = self.layout();
        let longest = LONGEST_NAME.min(room / 3);
        let widths = layout.columns().iter().map(|column| match column.index {
            0 => (column.width + self.sign_width()).min(longest),
            _ => column.width,
        });
        let left = room.saturating_sub(widths.map(|width| width + GAP).sum());
        if greatest <= 0.0 || left < LEAST_BAR {
            return self;
        }
        for (row, value) in self.rows.iter_mut().zip(&self.values) {
            let share = value / greatest;
            row.resize(self.columns.len(), Cell::default());
            let (full, _) = bar(share, left, theme);
            row.push(Cell::new(format!("{full:<left$}"), Tone::Muted));
        }
        self.columns.push((String::new(), Align::Left));
        self
    }

    /// Snippets: the name of the selected row, the marked rows, and the whole table. Tables are Markdown.
    pub fn copies(&self) -> Vec<Snippet> {
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            format!("| {} |", itertools::join(cells, " | "))
        };
        let titles = self.columns.iter();
        let head = line(&mut titles.map(|(title, _)| title.trim_end_matches(SORTED)));
        let aligns = self.columns.iter().map(|(_, align)| match align {
            Align::Left => "---",
            Align::Right => "---:",
        });
        let rule = line(&mut aligns.into_iter());
        let table = |rows: &[usize]| {
            let rows = rows.iter().map(|row| &self.rows[*row]);
            let rows = rows.map(|row| line(&mut row.iter().map(|cell| cell.text.as_str())));
            itertools::join([head.clone(), rule.clone()].into_iter().chain(rows), "\n")
        };
        let (name, marked) = (self.selected_name(), self.marked.as_slice());
        let mut copies = Vec::new();
        if !name.is_empty() {
            copies.push(Snippet::new("the name", name));
        }
        if !marked.is_empty() {
            let what = format!("the marked rows ({})", marked.len());
            copies.push(Snippet::new(what, table(marked)));
        }
        copies.push(Snippet::new("the table", table(&self.in_order())));
        copies
    }

    /// The full name of the selected row.
    pub fn selected_name(&self) -> &str {
        let cell = self.selected.and_then(|row| self.rows.get(row)?.first());
        cell.map_or("", |cell| cell.text.as_str())
    }

    /// Draws the table, and below it at most `most` lines of `foot`.
    pub fn draw_over(&self, foot: Vec<Line<'static>>, most: u16, pane: &mut Pane) {
        let most = most.min(pane.area.height);
        let foot_height = most.min(u16::try_from(foot.len()).unwrap_or(u16::MAX));
        let room = pane.area.height - foot_height;
        self.draw(&mut pane.take(room.min(self.height(pane.width()))));
        pane.put(foot.into_iter().take(most.into()));
    }

    /// Draws header and rows. The last line says how many rows have no room.
    pub fn draw(&self, pane: &mut Pane) {
        if pane.area.is_empty() {
            return;
        }
        let layout = self.visible(pane.width());
        self.header(&layout, &mut pane.take(1));
        let columns = &layout.shown;
        let room = usize::from(pane.area.height);
        let rows = self.in_order();
        let heights: Vec<usize> = rows.iter().map(|at| self.lines(columns, *at)).collect();
        let all_fit = heights.iter().sum::<usize>() <= room && self.filter.is_empty();
        let mut left = room.saturating_sub(usize::from(!all_fit));
        let selected = rows.iter().position(|row| self.selected == Some(*row));
        let first = first_shown(selected.unwrap_or(0), &heights, left);
        let shown = rows.iter().zip(&heights).skip(first);
        let shown = shown.take_while(|(_, height)| {
            let fits = left > 0;
            left = left.saturating_sub(**height);
            fits
        });
        let shown: Vec<usize> = shown.map(|(at, _)| *at).collect();
        let names: Vec<&str> = shown.iter().map(|at| self.text(*at, 0)).collect();
        let wide = columns.first().map_or(0, |column| column.width);
        let gap = pane.theme.glyphs.ellipsis;
        let names = shortened_apart(&names, wide, gap, |it| cut_middle(it, wide, pane.theme));
        for (at, name) in shown.iter().copied().zip(&names) {
            let height = self.lines(columns, at);
            let lines =
                (0..height).map(|number| self.row_line(columns, at, number, name, pane.theme));
            let lines: Vec<Line> = lines.collect();
            let mut pane = pane.take(u16::try_from(height).unwrap_or(u16::MAX));
            if self.selected == Some(at) {
                let style = pane.theme.selection();
                pane.buffer.set_style(pane.area, style);
            }
            pane.put(lines);
        }
        let last = first + shown.len();
        if !all_fit {
            let of = rows.len();
            let mut text = format!("rows {} to {last} of {of}", (first + 1).min(of));
            if !self.filter.is_empty() {
                let hidden = self.rows.len() - of;
                text.push_str(&format!(" with \"{}\"; {hidden} are hidden", self.filter));
            }
            pane.remark(&text);
        }
    }

    /// Lines that the whole table needs in so many columns.
    pub fn height(&self, width: usize) -> u16 {
        let columns = self.visible(width).shown;
        let rows = self.in_order();
        let lines: usize = rows.iter().map(|at| self.lines(&columns, *at)).sum();
        u16::try_from(lines + 1 + usize::from(!self.filter.is_empty())).unwrap_or(u16::MAX)
    }

    fn text(&self, row: usize, column: usize) -> &str {
        let cell = self.rows.get(row).and_then(|row| row.get(column));
        cell.map_or("", |cell| cell.text.as_str())
    }

    /// The text of a cell in lines.
    fn cell_lines(&self, row: usize, column: &Column) -> Vec<String> {
        let text = self.text(row, column.index);
        match self.folds && column.is_text() {
            true => wrapped(text, column.width),
            false => vec![text.to_owned()],
        }
    }

    /// Lines of a row.
    fn lines(&self, columns: &[Column], row: usize) -> usize {
        if !self.folds {
            return 1;
        }
        let lines = columns.iter().map(|it| self.cell_lines(row, it).len());
        lines.max().unwrap_or(1)
    }

    /// A line of a row, the first one with its figures. `name` is the text of the first column if it has one line.
    fn row_line(
        &self,
        columns: &[Column],
        at: usize,
        number: usize,
        name: &str,
        theme: &Theme,
    ) -> Line<'static> {
        let cell = |column: &Column| {
            let mut lines = self.cell_lines(at, column);
            if let (0, [whole]) = (column.index, lines.as_mut_slice()) {
                name.clone_into(whole);
            }
            let style = self.rows[at].get(column.index);
            let style = style.map(|cell| theme.tone(cell.tone));
            let text = lines.into_iter().nth(number).unwrap_or_default();
            (text, style.unwrap_or_default())
        };
        let sign = match number == 0 && self.marked.contains(&at) {
            true => theme.glyphs.bullet,
            false => " ",
        };
        self.line(columns, cell, sign, theme)
    }

    /// Columns for the sign of marked rows.
    fn sign_width(&self) -> usize {
        if self.marked.is_empty() { 0 } else { 2 }
    }

    fn layout(&self) -> ColumnLayout {
        let columns = self.columns.iter();
        let columns = columns.map(|(title, align)| (title.as_str(), *align));
        let rows = self.rows.iter();
        let rows = rows.map(|row| row.iter().map(|cell| cell.text.as_str()));
        ColumnLayout::from_texts(columns, rows)
    }

    /// The columns that fit behind the sign of marked rows.
    fn visible(&self, width: usize) -> ScrolledColumns {
        let width = width.saturating_sub(self.sign_width());
        self.layout().scrolled(width, self.shift, self.folds)
    }

    fn header(&self, layout: &ScrolledColumns, pane: &mut Pane) {
        let theme = pane.theme;
        let cell = |column: &Column| (self.columns[column.index].0.clone(), theme.emphasis());
        let area = pane.area;
        pane.put([self.line(&layout.shown, cell, " ", theme)]);
        let arrows = match (layout.hidden_left > 0, layout.hidden_right > 0) {
            (true, true) => "<>",
            (true, false) => "< ",
            (false, true) => " >",
            (false, false) => return,
        };
        let span = Span::styled(arrows, theme.accent());
        let x = area.right().saturating_sub(2).max(area.x);
        pane.buffer.set_span(x, area.y, &span, area.width.min(2));
    }

    fn line(
        &self,
        columns: &[Column],
        cell: impl Fn(&Column) -> (String, Style),
        sign: &str,
        theme: &Theme,
    ) -> Line<'static> {
        let sign = format!("{sign} ");
        let sign: String = sign.chars().take(self.sign_width()).collect();
        let cells = columns.iter().map(|column| {
            let (text, style) = cell(column);
            let text = cut_middle(&text, column.width, theme);
            vec![Span::styled(text, style)]
        });
        let mut line = aligned(columns, cells);
        line.spans.insert(0, Span::raw(sign));
        line
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::*;
    use crate::tui::sheet;

    pub(super) fn drawn(table: &TableView, width: u16, height: u16) -> String {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::new(true, true);
        table.draw(&mut Pane::new(area, &mut buffer, &theme));
        sheet::text(&buffer)
    }

    pub(super) fn table() -> TableView {
        let mut table = TableView::new(&[
            ("kernel", Align::Left),
            ("calls", Align::Right),
            ("total", Align::Right),
        ]);
        for n in 0..9 {
            table.rows.push(vec![
                format!("a_kernel_with_quite_a_long_name_{n}").into(),
                (n * 1000).to_string().into(),
                "12.50 ms".into(),
            ]);
        }
        table
    }

    #[test]
    fn names_that_are_cut_still_differ_and_texts_fold() {
        let mut table = TableView::new(&[("kernel", Align::Left), ("it does", Align::Left)]);
        for part in ["128x64", "64x128"] {
            let name = format!("Cijk_Ailk_Bljk_BBS_MT{part}x32_WSGRB0_WS64_WG32_8_1");
            table
                .rows
                .push(vec![name.into(), "a product of two matrices".into()]);
        }
        insta::assert_snapshot!(drawn(&table.clone().folded(), 40, 6), @r"
        kernel            it does
        Cij...MT128x64x3  a product of two
                          matrices
        Cij...MT64x128x3  a product of two
                          matrices
        ");
        let cut = drawn(&table, 40, 4);
        let names = ["MT128", "MT64x"];
        assert!(names.iter().all(|name| cut.contains(name)), "{cut}");
    }

    #[test]
    fn figures_are_whole_at_every_width_and_wait_to_the_right_where_there_is_no_room() {
        let mut table = table();
        for width in 33..80 {
            let text = drawn(&table, width, 12);
            assert_eq!(text.matches("12.50 ms").count(), 9, "{width}:\n{text}");
            assert!(text.contains(" 8000 "), "{width}:\n{text}");
        }
        let narrow = drawn(&table, 24, 12);
        assert!(
            narrow.contains(" 8000") && !narrow.contains("12.5"),
            "{narrow}"
        );
        assert!(
            narrow.starts_with("kernel") && narrow.contains(" >"),
            "{narrow}"
        );
        table.shift = 1;
        let shifted = drawn(&table, 24, 12);
        assert!(
            shifted.contains("12.5") && !shifted.contains("8000"),
            "{shifted}"
        );
        for width in 0..32 {
            drawn(&table, width, 5);
        }
    }

    #[test]
    fn the_selected_row_is_in_view_and_hidden_rows_are_told() {
        let mut table = table();
        for selected in 0..9 {
            table.selected = Some(selected);
            let text = drawn(&table, 60, 6);
            assert!(
                text.contains(&format!("_{selected} ")),
                "{selected}:\n{text}"
            );
            assert!(text.contains("of 9"), "{text}");
            assert_eq!(text.lines().count(), 6);
        }
        assert!(!drawn(&table, 60, 10).contains("of 9"));
    }
}
