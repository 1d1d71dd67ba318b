//! A text that fills the screen, line by line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::panel::{Panel, PanelAction, PanelCommand};
use super::theme::Theme;

/// Lines a page moves.
const PAGE: usize = 15;

/// Text that was laid out already, such as tables.
#[derive(Clone, Debug, Default)]
pub struct TextPanel {
    lines: Vec<String>,
    scroll: usize,
    /// Columns left out at the left.
    shift: usize,
}

impl TextPanel {
    pub fn new(text: &str) -> Self {
        Self {
            lines: text.lines().map(str::to_string).collect(),
            scroll: 0,
            shift: 0,
        }
    }
}

impl Panel for TextPanel {
    fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let rows = usize::from(area.height);
        let first = self.scroll.min(self.lines.len().saturating_sub(rows));
        for (y, line) in (area.top()..area.bottom()).zip(self.lines.iter().skip(first)) {
            let line: String = line.chars().skip(self.shift).collect();
            buffer.set_stringn(area.x, y, line, usize::from(area.width), theme.text());
        }
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let before = (self.scroll, self.shift);
        let last = self.lines.len().saturating_sub(1);
        match action {
            PanelAction::Up => self.scroll = self.scroll.saturating_sub(1),
            PanelAction::Down => self.scroll += 1,
            PanelAction::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
            PanelAction::PageDown => self.scroll += PAGE,
            PanelAction::Top => self.scroll = 0,
            PanelAction::Bottom => self.scroll = last,
            PanelAction::Left => self.shift = self.shift.saturating_sub(8),
            PanelAction::Right => self.shift += 8,
            _ => {}
        }
        self.scroll = self.scroll.min(last);
        let widest = self.lines.iter().map(|line| line.chars().count()).max();
        self.shift = self.shift.min(widest.unwrap_or(0).saturating_sub(8));
        before != (self.scroll, self.shift)
    }

    fn commands(&self) -> Vec<PanelCommand> {
        vec![PanelCommand::new(PanelAction::Right, "to the right")]
    }
}
