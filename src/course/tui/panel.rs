//! What every panel can do: be drawn, be moved through, and say which of that makes sense just now. The parts that panels
//! share are here, too: a cursor over rows, a scroll through lines, tabs.

use std::cell::Cell;
use std::fmt;

use ratatui::text::{Line, Span};

use crate::tui::{Area, Effects, Pane, Snippet, Theme, width};

/// What a learner can do in a list, a text or figures. Which key does it is the key map's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum PanelAction {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Left,
    Right,
    NextSection,
    PreviousSection,
    /// The next order of the table.
    Sort,
    /// The other way to show the same: recent or whole history, by kernel or by part.
    Toggle,
    /// Opens or closes what is selected.
    Select,
}

impl PanelAction {
    /// For what is counted from its end.
    pub fn reversed(self) -> Self {
        match self {
            PanelAction::Up => PanelAction::Down,
            PanelAction::Down => PanelAction::Up,
            PanelAction::PageUp => PanelAction::PageDown,
            PanelAction::PageDown => PanelAction::PageUp,
            PanelAction::Top => PanelAction::Bottom,
            PanelAction::Bottom => PanelAction::Top,
            action => action,
        }
    }
}

/// Something a panel can do now, in a word or two for the command bar.
pub type Command = (PanelAction, &'static str);

/// State, and how it is drawn. It knows nothing of keys, files and clocks.
pub trait Panel: fmt::Debug + Send {
    /// Over its frame, where it lies over the screen.
    fn title(&self) -> String {
        String::new()
    }

    /// Whose keys are its keys.
    fn area(&self) -> Area {
        Area::Panel
    }

    /// Draws into all of its pane and nowhere else. Never panics, however small that is.
    fn paint(&self, pane: &mut Pane);

    /// Acts; false when nothing changed, so that nothing is drawn.
    fn act(&mut self, action: PanelAction) -> bool;

    /// What is to be done outside of it when it is asked to act.
    fn effects(&self, _action: PanelAction) -> Effects {
        None
    }

    /// What can be done now, most useful first. Scrolling by lines and pages goes without saying.
    fn commands(&self) -> Vec<Command>;

    /// What enter comes to, where that is more than closing it.
    fn on_enter(&self) -> Option<&'static str> {
        None
    }

    /// What is read in it, as Markdown; none where it is no text.
    fn text(&self) -> Option<&str> {
        None
    }

    /// What of it can be copied, that under the cursor first.
    fn copies(&self) -> Vec<Snippet> {
        Vec::new()
    }

    /// Goes to the next or the last place where `text` stands, none meaning what was searched for before. Says which of how
    /// many it is; none where there is none.
    fn search(&mut self, _text: Option<&str>, _forward: bool) -> Option<(usize, usize)> {
        None
    }

    /// Lines above and below what was drawn last, for its frame.
    fn hidden(&self) -> (usize, usize) {
        (0, 0)
    }

    /// In the characters that the terminal has.
    fn draw(&self, mut pane: Pane) {
        let area = pane.area;
        self.paint(&mut pane);
        pane.at(area).keep_to_character_set();
    }
}

/// Where one goes from row `at`, of pages of so many rows; the end is beyond every row.
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

/// The row that is acted upon, and the columns that were scrolled past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    pub row: usize,
    pub shift: usize,
}

impl Cursor {
    /// Rows a page goes by.
    const PAGE: usize = 10;

    /// Moves within `rows`, and past all columns but one of those behind the first; false where it stays.
    pub fn act(&mut self, action: PanelAction, rows: usize, columns: usize) -> bool {
        let before = *self;
        let last = rows.saturating_sub(1);
        self.row = moved(self.row.min(last), action, Self::PAGE).min(last);
        self.shift = match action {
            PanelAction::Left => self.shift.saturating_sub(1),
            PanelAction::Right => (self.shift + 1).min(columns.saturating_sub(2)),
            _ => self.shift,
        };
        before != *self
    }

    /// The first of `rows` to show in `room`: the cursor stays in the middle as long as there is more on both sides.
    pub fn first_shown(self, rows: usize, room: usize) -> usize {
        self.row
            .saturating_sub(room / 2)
            .min(rows.saturating_sub(room))
    }
}

/// The first line shown of a text that may be longer than the screen. How far it goes is known once it was drawn.
#[derive(Clone, Debug, Default)]
pub struct Scroll {
    first: Cell<usize>,
    last: Cell<Option<usize>>,
    room: Cell<usize>,
    lines: Cell<usize>,
}

impl Scroll {
    /// The first of `lines` that is shown in `room`, which is filled as long as there are lines for it.
    pub fn first(&self, lines: usize, room: usize) -> usize {
        let last = lines.saturating_sub(room);
        self.lines.set(lines);
        self.room.set(room);
        self.last.set(Some(last));
        self.first.set(self.first.get().min(last));
        self.first.get()
    }

    /// Moves; false where it stays.
    pub fn act(&self, action: PanelAction, page: usize) -> bool {
        self.to(moved(self.first.get(), action, page))
    }

    pub fn to(&self, line: usize) -> bool {
        let line = line.min(self.last.get().unwrap_or(usize::MAX));
        self.first.replace(line) != line
    }

    /// Goes to the next or the last of these lines, round and round, and says which of how many it is; none where there
    /// is none.
    pub fn to_match(&self, lines: &[usize], forward: bool) -> Option<(usize, usize)> {
        let at = self.first.get();
        let chosen = match forward {
            true => lines.iter().position(|line| *line > at).unwrap_or(0),
            false => {
                let before = lines.iter().rposition(|line| *line < at);
                before.unwrap_or(lines.len().saturating_sub(1))
            }
        };
        self.to(*lines.get(chosen)?);
        Some((chosen + 1, lines.len()))
    }

    /// A page of what was drawn last, of which two lines stay in view.
    pub fn page(&self) -> usize {
        self.room.get().saturating_sub(2).max(1)
    }

    /// Lines above and below what was drawn last.
    pub fn hidden(&self) -> (usize, usize) {
        let above = self.first.get();
        let below = self.lines.get().saturating_sub(above + self.room.get());
        (above, below)
    }

    /// Brings lines into view, the first of them before the last.
    pub fn show(&self, from: usize, to: usize, lines: usize, room: usize) {
        let mut first = self.first.get();
        if to > first + room {
            first = to.saturating_sub(room);
        }
        self.first.set(first.min(from));
        self.first(lines, room);
    }
}

/// One of several sections, and their names in a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tabs {
    pub at: usize,
}

impl Tabs {
    /// To the next or the one before, round and round; false where the action is another, or there is no other section.
    pub fn act(&mut self, action: PanelAction, count: usize) -> bool {
        let by = match action {
            PanelAction::NextSection => 1,
            PanelAction::PreviousSection => count.saturating_sub(1),
            _ => return false,
        };
        self.at = (self.at + by) % count.max(1);
        count > 1
    }

    /// All names, or that of the section shown where there is no room.
    pub fn line(self, names: &[&str], wide: usize, theme: &Theme) -> Line<'static> {
        if names.iter().map(|name| width(name) + 2).sum::<usize>() > wide {
            let name = names.get(self.at).unwrap_or(&"");
            let text = format!(" {name} ({} of {}) ", self.at + 1, names.len());
            return Line::styled(text, theme.selection());
        }
        let spans = names.iter().enumerate().map(|(at, name)| {
            let style = match at == self.at {
                true => theme.selection(),
                false => theme.muted(),
            };
            Span::styled(format!(" {name} "), style)
        });
        Line::from_iter(spans)
    }
}
