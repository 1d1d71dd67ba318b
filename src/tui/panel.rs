//! What every panel of data can do: be drawn, be scrolled and sorted, and say which of that makes sense just now.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::theme::Theme;

/// What a learner can do in a panel. Which key does it is the key map's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// Something a panel can do now, in a word or two for the command bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PanelCommand {
    pub action: PanelAction,
    pub does: &'static str,
}

impl PanelCommand {
    pub const fn new(action: PanelAction, does: &'static str) -> Self {
        Self { action, does }
    }
}

/// A panel: state, and how it is drawn. It knows nothing of keys, files and clocks.
pub trait Panel {
    /// Draws into all of `area` and nowhere else. Never panics, however small the area is.
    fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme);

    /// Acts; false when nothing changed, so that nothing is drawn.
    fn act(&mut self, action: PanelAction) -> bool;

    /// What can be done now, most useful first. Scrolling by lines and pages goes without saying.
    fn commands(&self) -> Vec<PanelCommand>;
}
