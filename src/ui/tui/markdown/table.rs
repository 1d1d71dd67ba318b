//! Fits tables to a width: shrinks the widest columns first and wraps their cells.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use crate::tui::widgets::text::aligned;
use crate::tui::{Theme, wrap};
use tinyllama_base::Align;
use tinyllama_base::columns::{Column, ColumnLayout};

#[derive(Default)]
pub struct MarkdownTable {
    pub alignments: Vec<Alignment>,
    pub rows: Vec<Vec<Vec<Span<'static>>>>,
    /// Cells of the current row.
    pub row: Vec<Vec<Span<'static>>>,
}

impl MarkdownTable {
    pub fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Renders the table with a rule below its first row.
    pub fn lines(self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut layout =
            ColumnLayout::new(self.alignments.iter().map(|alignment| match alignment {
                Alignment::Right => Align::Right,
                _ => Align::Left,
            }));
        for row in &self.rows {
            let widths = row.iter().map(|cell| cell.iter().map(Span::width).sum());
            layout.measure(widths);
        }
        let columns = layout.narrowed(width);
        let mut lines = Vec::new();
        for (index, row) in self.rows.into_iter().enumerate() {
            lines.extend(row_lines(row, &columns));
            if index == 0 {
                let rule = |column: &Column| theme.glyphs.horizontal.repeat(column.width);
                let rules = columns.iter().map(|column| vec![Span::raw(rule(column))]);
                lines.push(aligned(&columns, rules).style(theme.muted()));
            }
        }
        lines
    }
}

fn row_lines(row: Vec<Vec<Span<'static>>>, columns: &[Column]) -> Vec<Line<'static>> {
    let cells = row.into_iter().zip(columns);
    let cells = cells.map(|(cell, column)| wrap(cell, column.width));
    let mut cells: Vec<Vec<Line>> = cells.collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let lines = (0..height).map(|line| {
        let line = cells.iter_mut().map(|cell| match cell.get_mut(line) {
            Some(part) => std::mem::take(&mut part.spans),
            None => Vec::new(),
        });
        aligned(columns, line)
    });
    lines.collect()
}
