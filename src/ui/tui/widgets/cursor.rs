//! Where the learner is: a cursor over rows, a scroll through lines, tabs.

use std::cell::Cell;

use ratatui::text::{Line, Span};

use super::text::width;
use crate::tui::Theme;
use tinyllama_tutor_core::PanelAction;

/// An action that a panel offers now, with one or two words for the command bar.
pub type PanelCommand = (PanelAction, &'static str);

/// Returns the row that `action` leads to from row `at`, with pages of `page` rows. The end lies beyond every row.
fn moved(at: usize, action: PanelAction, page: usize) -> usize {
    match action {
        PanelAction::Up => at.saturating_sub(1),
        PanelAction::Down => at.saturating_add(1),
        PanelAction::PageUp => at.saturating_sub(page),
        PanelAction::PageDown => at.saturating_add(page),
        PanelAction::Top => 0,
        PanelAction::Bottom => usize::MAX,
        _ => at,
    }
}

/// The selected row, the number of columns scrolled past, and which rows a table shows in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    pub row: usize,
    pub shift: usize,
    /// Column by which the rows are sorted. `None` keeps the order that the table has.
    pub order: Option<usize>,
    /// Only rows that contain it are shown.
    pub filter: String,
    /// The marked rows in the order of marking: the text of the first cell, and how many rows above have the same.
    pub marks: Vec<(String, usize)>,
}

impl Cursor {
    /// Rows that a page key moves by.
    const PAGE: usize = 10;

    /// Moves within `rows`, and sideways until one column after the first is left. Returns false if nothing moved.
    pub fn act(&mut self, action: PanelAction, rows: usize, columns: usize) -> bool {
        let before = (self.row, self.shift);
        let last = rows.saturating_sub(1);
        self.row = moved(self.row.min(last), action, Self::PAGE).min(last);
        self.shift = match action {
            PanelAction::Left => self.shift.saturating_sub(1),
            PanelAction::Right => (self.shift + 1).min(columns.saturating_sub(2)),
            _ => self.shift,
        };
        before != (self.row, self.shift)
    }

    /// Returns whether a text passes the filter. Case does not matter.
    pub fn shows(&self, text: &str) -> bool {
        self.filter.is_empty() || text.to_lowercase().contains(&self.filter.to_lowercase())
    }
}

/// The first row to show of rows with these heights, so that row `at` is visible in `room` lines. It stays in the
/// middle while more rows lie on both sides.
pub fn first_shown(at: usize, heights: &[usize], room: usize) -> usize {
    // The first of the rows before `end` that fill at most `most` lines.
    let back = |end: usize, most: usize| {
        let mut left = most;
        let fits = heights[..end].iter().rev().take_while(|height| {
            let fits = **height <= left;
            left = left.saturating_sub(**height);
            fits
        });
        end - fits.count()
    };
    back(at.min(heights.len()), room / 2).min(back(heights.len(), room))
}

/// The first visible line of a text that may be longer than the screen. The last position is known only after a draw.
#[derive(Clone, Debug, Default)]
pub struct Scroll {
    first: Cell<usize>,
    last: Cell<Option<usize>>,
    room: Cell<usize>,
    lines: Cell<usize>,
}

impl Scroll {
    /// Returns the first of `lines` to show in `room` rows. The room is filled as long as there are enough lines.
    pub fn first(&self, lines: usize, room: usize) -> usize {
        let last = lines.saturating_sub(room);
        self.lines.set(lines);
        self.room.set(room);
        self.last.set(Some(last));
        self.first.set(self.first.get().min(last));
        self.first.get()
    }

    /// Moves. Returns false if nothing moved.
    pub fn act(&self, action: PanelAction, page: usize) -> bool {
        self.scroll_to(moved(self.first.get(), action, page))
    }

    pub fn scroll_to(&self, line: usize) -> bool {
        let line = line.min(self.last.get().unwrap_or(usize::MAX));
        self.first.replace(line) != line
    }

    /// Moves to the next or previous of these lines and wraps around at the ends.
    /// Returns the number of the match and the count of all, or `None` if `lines` is empty.
    pub fn to_match(&self, lines: &[usize], forward: bool) -> Option<(usize, usize)> {
        let at = self.first.get();
        let chosen = match forward {
            true => lines.iter().position(|line| *line > at).unwrap_or(0),
            false => {
                let before = lines.iter().rposition(|line| *line < at);
                before.unwrap_or(lines.len().saturating_sub(1))
            }
        };
        self.scroll_to(*lines.get(chosen)?);
        Some((chosen + 1, lines.len()))
    }

    /// Rows of a page at the last draw; two of them stay in view.
    pub fn page(&self) -> usize {
        self.room.get().saturating_sub(2).max(1)
    }

    /// Number of lines above and below the visible part at the last draw.
    pub fn hidden(&self) -> (usize, usize) {
        let above = self.first.get();
        let below = self.lines.get().saturating_sub(above + self.room.get());
        (above, below)
    }

    /// Scrolls lines into view. If they do not fit, the first one wins.
    pub fn show(&self, from: usize, to: usize, lines: usize, room: usize) {
        let mut first = self.first.get();
        if to > first + room {
            first = to.saturating_sub(room);
        }
        self.first.set(first.min(from));
        self.first(lines, room);
    }
}

/// The selected one of several sections; draws their names in one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tabs {
    pub at: usize,
}

impl Tabs {
    /// Moves to the next or previous section and wraps around. Returns false for another action or a single section.
    pub fn act(&mut self, action: PanelAction, count: usize) -> bool {
        let by = match action {
            PanelAction::NextSection => 1,
            PanelAction::PreviousSection => count.saturating_sub(1),
            _ => return false,
        };
        self.at = (self.at + by) % count.max(1);
        count > 1
    }

    /// All names, or only the name of the selected section if they do not fit.
    pub fn line(self, names: &[&str], wide: usize, theme: &Theme) -> Line<'static> {
        let fits = names.iter().map(|name| width(name) + 2).sum::<usize>() <= wide;
        let shown = names.iter().enumerate();
        let mut left = wide;
        // Without room for all, the open section comes first and those after it as far as they fit.
        let spans = shown
            .skip(if fits { 0 } else { self.at })
            .map_while(|(at, name)| {
                let (text, style) = match at == self.at {
                    true if fits => (format!(" {name} "), theme.selection()),
                    true => (
                        format!(" {name} ({} of {}) ", at + 1, names.len()),
                        theme.selection(),
                    ),
                    false => (format!(" {name} "), theme.muted()),
                };
                let is_cut = width(&text) > left;
                left = left.saturating_sub(width(&text));
                (at == self.at || !is_cut).then(|| Span::styled(text, style))
            });
        Line::from_iter(spans)
    }
}
