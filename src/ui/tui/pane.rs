//! A rectangle of the frame that is being drawn, with its buffer and theme.

use ratatui::prelude::{Buffer, Constraint, Layout, Line, Rect, Style};

use crate::tui::{Highlighter, Theme, markdown, paragraph};

/// Everything that draws gets a pane, and writes only into it.
pub struct Pane<'a> {
    pub area: Rect,
    pub buffer: &'a mut Buffer,
    pub theme: &'a Theme,
    /// Colours code, once it is loaded.
    pub highlighter: Option<&'a Highlighter>,
}

impl<'a> Pane<'a> {
    /// Keeps the part of `area` that lies within the buffer.
    pub fn new(area: Rect, buffer: &'a mut Buffer, theme: &'a Theme) -> Self {
        Self {
            area: area.intersection(buffer.area),
            buffer,
            theme,
            highlighter: None,
        }
    }

    /// A pane for another rectangle of the same frame.
    pub fn sub_pane(&mut self, area: Rect) -> Pane<'_> {
        Pane {
            area,
            buffer: self.buffer,
            theme: self.theme,
            highlighter: self.highlighter,
        }
    }

    /// Splits off the upper rows, at most `rows`; this pane keeps the others.
    pub fn take(&mut self, rows: u16) -> Pane<'_> {
        let height = rows.min(self.area.height);
        let upper = Rect {
            height,
            ..self.area
        };
        self.area.y += height;
        self.area.height -= height;
        self.sub_pane(upper)
    }

    pub fn rows<const N: usize>(&self, rows: [Constraint; N]) -> [Rect; N] {
        Layout::vertical(rows).areas(self.area)
    }

    pub fn columns<const N: usize>(&self, columns: [Constraint; N]) -> [Rect; N] {
        Layout::horizontal(columns).areas(self.area)
    }

    pub fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    /// Writes lines from the top until the pane is full, and shrinks it by the rows used.
    pub fn put(&mut self, lines: impl IntoIterator<Item = Line<'static>>) {
        for line in lines {
            if self.area.is_empty() {
                break;
            }
            let Rect { x, y, width, .. } = self.area;
            self.buffer.set_line(x, y, &line, width);
            self.take(1);
        }
    }

    /// Writes a title, in several lines if it is longer than the pane is wide.
    pub fn heading(&mut self, text: &str) {
        self.put_text(text, self.theme.emphasis());
    }

    /// Writes wrapped text in one style.
    pub fn put_text(&mut self, text: &str, style: Style) {
        self.put(paragraph(text, self.area.width, style));
    }

    /// Renders Markdown to lines as wide as the pane.
    pub fn markdown(&self, text: &str) -> Vec<Line<'static>> {
        markdown::render(text, self.area.width, self.theme, self.highlighter)
    }

    /// Reverses every occurrence of a word.
    pub fn mark(&mut self, word: &str) {
        let wanted: Vec<String> = word.to_lowercase().chars().map(|c| c.to_string()).collect();
        if wanted.is_empty() {
            return;
        }
        for row in self.area.rows() {
            let cells = (row.left()..row.right()).map(|x| (x, row.y));
            let cells = cells.map(|place| self.buffer[place].symbol().to_lowercase());
            let cells: Vec<String> = cells.collect();
            for (start, window) in cells.windows(wanted.len()).enumerate() {
                if window == wanted.as_slice() {
                    let x = row.x + u16::try_from(start).unwrap_or(0);
                    let width = u16::try_from(wanted.len()).unwrap_or(0);
                    let style = self.theme.selection();
                    self.buffer.set_style(Rect::new(x, row.y, width, 1), style);
                }
            }
        }
    }

    /// Writes why there is nothing to see.
    pub fn remark(&mut self, text: &str) {
        self.put_text(text, self.theme.muted());
    }

    /// Replaces characters that a terminal without Unicode cannot show. They come from names of devices and kernels
    /// and from the output of programs.
    pub fn keep_to_character_set(&mut self) {
        if self.theme.glyphs.unicode {
            return;
        }
        for position in self.area.positions() {
            let Some(cell) = self.buffer.cell_mut(position) else {
                continue;
            };
            if !cell.symbol().is_ascii() {
                let plain = match cell.symbol() {
                    "×" => "x",
                    "·" => "*",
                    "²" => "2",
                    "³" => "3",
                    "µ" | "μ" => "u",
                    "–" | "—" | "−" => "-",
                    "“" | "”" => "\"",
                    "’" | "‘" => "'",
                    "ε" => "e",
                    "σ" => "s",
                    "Σ" => "S",
                    _ => "?",
                };
                cell.set_symbol(plain);
            }
        }
    }
}

/// The characters of a picture, one line per row, without blanks at the end.
pub fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let mut text = String::new();
    for row in buffer.content().chunks(width) {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
