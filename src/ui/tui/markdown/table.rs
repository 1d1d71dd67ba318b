//! Fits tables to a width: shrinks the widest columns first and wraps their cells.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use crate::tui::{Theme, wrap};

/// Columns between two cells.
const GAP: usize = 2;
/// No column becomes narrower. A tiny screen cuts the table instead of showing one letter a line.
const NARROWEST: usize = 5;

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
        let widths = self.widths(width);
        let mut lines = Vec::new();
        for (index, row) in self.rows.into_iter().enumerate() {
            lines.extend(row_lines(row, &widths, &self.alignments));
            if index == 0 {
                let rules = widths.iter();
                let rules = rules.map(|width| theme.glyphs.horizontal.repeat(*width));
                let rule = itertools::join(rules, &" ".repeat(GAP));
                lines.push(Line::styled(rule, theme.muted()));
            }
        }
        lines
    }

    fn widths(&self, available: usize) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell_width(cell)).max().unwrap_or(0)
            })
            .collect();
        let gaps = GAP * columns.saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > available {
            let Some(widest) = widths.iter_mut().max() else {
                break;
            };
            if *widest <= NARROWEST {
                break;
            }
            *widest -= 1;
        }
        widths
    }
}

fn cell_width(cell: &[Span<'static>]) -> usize {
    cell.iter().map(Span::width).sum()
}

fn row_lines(
    row: Vec<Vec<Span<'static>>>,
    widths: &[usize],
    alignments: &[Alignment],
) -> Vec<Line<'static>> {
    let mut cells: Vec<std::vec::IntoIter<Line<'static>>> = row
        .into_iter()
        .zip(widths)
        .map(|(cell, width)| wrap(cell, *width).into_iter())
        .collect();
    let mut lines = Vec::new();
    loop {
        let parts: Vec<Option<Line<'static>>> = cells.iter_mut().map(Iterator::next).collect();
        if parts.iter().all(Option::is_none) {
            return lines;
        }
        let mut spans = Vec::new();
        for (column, (part, width)) in parts.into_iter().zip(widths).enumerate() {
            if column > 0 {
                spans.push(Span::raw(" ".repeat(GAP)));
            }
            let part = part.unwrap_or_default();
            let missing = width.saturating_sub(part.width());
            let right = matches!(alignments.get(column), Some(Alignment::Right));
            if right {
                spans.push(Span::raw(" ".repeat(missing)));
            }
            spans.extend(part.spans);
            if !right && column + 1 < widths.len() {
                spans.push(Span::raw(" ".repeat(missing)));
            }
        }
        lines.push(Line::from(spans));
    }
}
