//! A table that fits: the first column gives way, and columns that still have no room wait to the right.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::text::{cut_middle, width};
use crate::base::table::{Align, TextTable};
use crate::tui::theme::Theme;

/// How a cell is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Muted,
    Emphasis,
    Good,
    Warning,
    Bad,
}

impl Tone {
    pub fn style(self, theme: &Theme) -> Style {
        match self {
            Tone::Plain => theme.text(),
            Tone::Muted => theme.muted(),
            Tone::Emphasis => theme.emphasis(),
            Tone::Good => theme.good(),
            Tone::Warning => theme.warning(),
            Tone::Bad => theme.bad(),
        }
    }
}

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

    /// A figure, or that there is none.
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

/// The first column keeps at least this many columns of the screen.
const NARROWEST_FIRST: usize = 14;

/// Columns of words are cut down to this, columns of figures never.
const NARROWEST_TEXT: usize = 10;

const GAP: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct Table {
    pub columns: Vec<(String, Align)>,
    pub rows: Vec<Vec<Cell>>,
    /// The row that is acted upon; it is always in view.
    pub selected: Option<usize>,
    /// Columns after the first that were scrolled past.
    pub shift: usize,
}

impl Table {
    pub fn new(columns: &[(&str, Align)]) -> Self {
        Table {
            columns: columns
                .iter()
                .map(|(title, align)| ((*title).to_owned(), *align))
                .collect(),
            ..Table::default()
        }
    }

    /// A table made for plain text.
    pub fn of_text(table: &TextTable) -> Self {
        let mut of_text = Table::new(&table.columns);
        of_text.rows = table
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| cell.as_str().into()).collect())
            .collect();
        of_text
    }

    /// Draws header and rows; the last line tells of rows that have no room.
    pub fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        if area.height == 0 || area.width == 0 {
            return;
        }
        let layout = self.layout(usize::from(area.width));
        self.header(&layout, area, buffer, theme);
        let room = usize::from(area.height) - 1;
        let all_fit = self.rows.len() <= room;
        let shown = if all_fit {
            room
        } else {
            room.saturating_sub(1)
        };
        let first = self.first_shown(shown);
        let last = (first + shown).min(self.rows.len());
        for (line, at) in (first..last).enumerate() {
            let y = area.y + 1 + line as u16;
            let row = Rect::new(area.x, y, area.width, 1);
            self.row(at, &layout, row, buffer, theme);
        }
        if !all_fit && room > 0 {
            let text = format!(
                "rows {} to {} of {}",
                (first + 1).min(self.rows.len()),
                (first + shown).min(self.rows.len()),
                self.rows.len()
            );
            let span = Span::styled(text, theme.muted());
            buffer.set_span(area.x, area.bottom() - 1, &span, area.width);
        }
    }

    /// Lines it would like to have.
    pub fn height(&self) -> u16 {
        u16::try_from(self.rows.len() + 1).unwrap_or(u16::MAX)
    }

    fn first_shown(&self, shown: usize) -> usize {
        let last_first = self.rows.len().saturating_sub(shown);
        self.selected
            .map_or(0, |selected| selected.saturating_sub(shown / 2))
            .min(last_first)
    }

    /// Columns shown with their widths, and how many wait to the right.
    fn layout(&self, total: usize) -> Layout {
        let natural: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, (title, _))| {
                let cells = self.rows.iter().filter_map(|row| row.get(at));
                cells
                    .map(|cell| width(&cell.text))
                    .chain([width(title)])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let Some((&first, others)) = natural.split_first() else {
            return Layout::default();
        };
        let all: usize = others.iter().map(|width| GAP + width).sum();
        let least = first.min(NARROWEST_FIRST);
        let everything_fits = least + all <= total;
        let shift = if everything_fits {
            0
        } else {
            self.shift.min(others.len().saturating_sub(1))
        };
        // Room for the arrow that says there is more.
        let arrows = if everything_fits { 0 } else { 2 };
        // One figure at least is whole, whatever that costs the name.
        let figure = others.get(shift).map_or(0, |width| GAP + width);
        let least = least.min(total.saturating_sub(figure + arrows));
        let mut left = total.saturating_sub(least + arrows);
        let mut shown = Vec::new();
        for (at, &width) in others.iter().enumerate().skip(shift) {
            let wanted = GAP + width;
            // The start of a text is of use; that of a number is not.
            let may_be_cut = self.is_text(at + 1) && left >= GAP + NARROWEST_TEXT;
            if wanted > left && !shown.is_empty() && !may_be_cut {
                break;
            }
            let given = wanted.min(left);
            if given <= GAP {
                break;
            }
            shown.push((at + 1, given - GAP));
            left -= given;
        }
        let hidden_right = others.len() - shift - shown.len();
        Layout {
            first: (least + left).min(first).min(total),
            shown,
            hidden_left: shift,
            hidden_right,
        }
    }

    fn is_text(&self, column: usize) -> bool {
        let align = self.columns.get(column).map(|column| column.1);
        align == Some(Align::Left)
    }

    fn header(&self, layout: &Layout, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let title = |at: usize| self.columns.get(at).map_or("", |(title, _)| title);
        let cells = |at: usize| (title(at).to_owned(), theme.emphasis());
        self.line(layout, cells, area.x, area.y, area.width, buffer, theme);
        let arrows = match (layout.hidden_left > 0, layout.hidden_right > 0) {
            (true, true) => "<>",
            (true, false) => "< ",
            (false, true) => " >",
            (false, false) => return,
        };
        let span = Span::styled(arrows, theme.accent());
        let x = area.right().saturating_sub(2).max(area.x);
        buffer.set_span(x, area.y, &span, area.width.min(2));
    }

    fn row(&self, at: usize, layout: &Layout, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let Some(row) = self.rows.get(at) else { return };
        let cells = |column: usize| match row.get(column) {
            Some(cell) => (cell.text.clone(), cell.tone.style(theme)),
            None => (String::new(), Style::new()),
        };
        self.line(layout, cells, area.x, area.y, area.width, buffer, theme);
        if self.selected == Some(at) {
            buffer.set_style(area, theme.selection());
        }
    }

    #[expect(clippy::too_many_arguments, reason = "where, how wide and how to draw")]
    fn line(
        &self,
        layout: &Layout,
        cell: impl Fn(usize) -> (String, Style),
        x: u16,
        y: u16,
        most: u16,
        buffer: &mut Buffer,
        theme: &Theme,
    ) {
        let mut spans = Vec::new();
        let columns = [(0, layout.first)]
            .into_iter()
            .chain(layout.shown.iter().copied());
        for (at, wide) in columns {
            let (text, style) = cell(at);
            let text = cut_middle(&text, wide, theme);
            let gap = " ".repeat(wide.saturating_sub(width(&text)));
            let align = self.columns.get(at).map_or(Align::Left, |column| column.1);
            if at > 0 {
                spans.push(Span::raw(" ".repeat(GAP)));
            }
            match align {
                Align::Left => spans.extend([Span::styled(text, style), Span::raw(gap)]),
                Align::Right => spans.extend([Span::raw(gap), Span::styled(text, style)]),
            }
        }
        buffer.set_line(x, y, &Line::from(spans), most);
    }
}

#[derive(Default)]
struct Layout {
    first: usize,
    /// Column and width.
    shown: Vec<(usize, usize)>,
    hidden_left: usize,
    hidden_right: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::sheet;
    use crate::tui::theme::{Glyphs, Palette};

    fn drawn(table: &Table, width: u16, height: u16) -> String {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        table.render(area, &mut buffer, &Theme::new(Palette::Mono, Glyphs::ASCII));
        sheet::text(&buffer)
    }

    fn table() -> Table {
        let mut table = Table::new(&[
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
    fn figures_are_whole_at_every_width_and_wait_to_the_right_where_there_is_no_room() {
        let mut table = table();
        for width in 31..80 {
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
        for width in 0..30 {
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
