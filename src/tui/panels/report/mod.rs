//! A report as it will be written, and where.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::text::{both_ends, keep_to_character_set, put};
use crate::tui::highlight::Highlighter;
use crate::tui::markdown;
use crate::tui::panel::{Panel, PanelAction, PanelCommand};
use crate::tui::theme::Theme;

/// Lines a page goes by.
const PAGE: usize = 15;

/// The narrowest the report is drawn; it has the most lines there.
const NARROWEST: u16 = 40;

#[derive(Clone, Debug)]
pub struct ReportPanel {
    markdown: String,
    path: PathBuf,
    highlighter: Option<Arc<Highlighter>>,
    scroll: usize,
    /// Lines it has at most, however narrow the screen is.
    most_lines: usize,
}

impl ReportPanel {
    /// `path` is where it will be written.
    pub fn new(markdown: String, path: PathBuf) -> Self {
        let most_lines = markdown::render(&markdown, NARROWEST, &Theme::default(), None).len();
        ReportPanel {
            markdown,
            path,
            highlighter: None,
            scroll: 0,
            most_lines,
        }
    }

    /// Colours for code, once there are some.
    pub fn set_highlighter(&mut self, highlighter: Arc<Highlighter>) {
        self.highlighter = Some(highlighter);
    }
}

impl Panel for ReportPanel {
    fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let area = area.intersection(buffer.area);
        if area.width == 0 || area.height == 0 {
            return;
        }
        let highlighter = self.highlighter.as_deref();
        let lines = markdown::render(&self.markdown, area.width, theme, highlighter);
        let room = usize::from(area.height) - 1;
        let last = lines.len().saturating_sub(room);
        let first = self.scroll.min(last);
        let place = match (first, last) {
            (_, 0) => "all of it".to_owned(),
            (first, last) => format!("{} %", 100 * first / last),
        };
        let path = format!("To be written to {}", self.path.display());
        let head = both_ends(
            Span::styled(path, theme.emphasis()),
            Span::styled(place, theme.muted()),
            area.width,
            theme,
        );
        let head: [Line; 1] = [head];
        let rest = put(head, area, buffer);
        put(lines.into_iter().skip(first), rest, buffer);
        keep_to_character_set(area, buffer, theme);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let last = self.most_lines.saturating_sub(1);
        let before = self.scroll;
        self.scroll = match action {
            PanelAction::Up => self.scroll.saturating_sub(1),
            PanelAction::Down => self.scroll + 1,
            PanelAction::PageUp => self.scroll.saturating_sub(PAGE),
            PanelAction::PageDown => self.scroll + PAGE,
            PanelAction::Top => 0,
            PanelAction::Bottom => last,
            _ => self.scroll,
        }
        .min(last);
        before != self.scroll
    }

    fn commands(&self) -> Vec<PanelCommand> {
        vec![
            PanelCommand::new(PanelAction::Select, "write it"),
            PanelCommand::new(PanelAction::PageDown, "next page"),
        ]
    }
}
