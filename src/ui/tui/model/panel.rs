//! The trait of all panels: they draw, move, and list the actions that make sense now.

use std::fmt;

use crate::tui::{Area, Effects, OccupancyPanel, Pane, PanelCommand, Snippet};
use tinyllama_tutor_core::PanelAction;

/// The state of a panel and how to draw it. A panel knows nothing of keys, files and clocks.
pub trait Panel: fmt::Debug + Send {
    /// Title in the frame, when the panel lies over the screen.
    fn title(&self) -> String {
        String::new()
    }

    /// The area whose keys apply to this panel.
    fn area(&self) -> Area {
        Area::Panel
    }

    /// Draws into the whole pane and nowhere else. Never panics, however small the pane is.
    fn paint(&self, pane: &mut Pane);

    /// Carries out an action. Returns false if nothing changed, so that nothing is drawn.
    fn act(&mut self, action: PanelAction) -> bool;

    /// Returns the effects outside the panel that an action needs.
    fn effects(&self, _action: PanelAction) -> Effects {
        None
    }

    /// Returns the panel to which a compiler's answer goes.
    fn as_occupancy(&mut self) -> Option<&mut OccupancyPanel> {
        None
    }

    /// Actions that are possible now, most useful first. Scrolling by lines and pages is not listed.
    fn commands(&self) -> Vec<PanelCommand>;

    /// Describes what Enter does, if it does more than close the panel.
    fn on_enter(&self) -> Option<&'static str> {
        None
    }

    /// The panel's text as Markdown, or `None` if it shows no text.
    fn text(&self) -> Option<&str> {
        None
    }

    /// Texts that can be copied, the one under the cursor first.
    fn copies(&self) -> Vec<Snippet> {
        Vec::new()
    }

    /// Shows only rows with this text; all if it is empty. Returns false if the panel shows no list.
    fn filter(&mut self, _text: &str) -> bool {
        false
    }

    /// Moves to the next or previous match of `text`; `None` repeats the last search.
    /// Returns the number of the match and the count of all, or `None` without a match.
    fn search(&mut self, _text: Option<&str>, _forward: bool) -> Option<(usize, usize)> {
        None
    }

    /// Number of lines above and below the visible part at the last draw, for the frame.
    fn hidden(&self) -> (usize, usize) {
        (0, 0)
    }

    /// Paints the panel and replaces characters that the terminal lacks.
    fn draw(&self, mut pane: Pane) {
        let area = pane.area;
        self.paint(&mut pane);
        pane.sub_pane(area).keep_to_character_set();
    }
}
