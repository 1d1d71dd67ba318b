//! Something to read: lines as they are, paragraphs, or Markdown.

use ratatui::text::Line;

use super::table::Tone;
use super::text::paragraph;
use crate::tui::keys::Area;
use crate::tui::pane::Pane;
use crate::tui::panel::{Command, Panel, PanelAction, Scroll};

/// Lines a page goes by.
const PAGE: usize = 10;

#[derive(Debug)]
pub enum Text {
    Lines(Vec<Line<'static>>),
    Paragraphs(Vec<(String, Tone)>),
    Markdown(String),
}

#[derive(Debug)]
pub struct Page {
    title: String,
    text: Text,
    scroll: Scroll,
}

impl Page {
    pub fn new(title: impl Into<String>, text: Text) -> Self {
        Self {
            title: title.into(),
            text,
            scroll: Scroll::default(),
        }
    }
}

impl Panel for Page {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn area(&self) -> Area {
        Area::Page
    }

    fn paint(&self, pane: &mut Pane) {
        let lines = match &self.text {
            Text::Lines(lines) => lines.clone(),
            Text::Paragraphs(paragraphs) => paragraphs
                .iter()
                .flat_map(|(text, tone)| paragraph(text, pane.area.width, tone.style(pane.theme)))
                .collect(),
            Text::Markdown(text) => pane.markdown(text),
        };
        let first = self.scroll.first(lines.len(), pane.area.height.into());
        pane.put(lines.into_iter().skip(first));
    }

    fn act(&mut self, action: PanelAction) -> bool {
        self.scroll.act(action, PAGE)
    }

    fn commands(&self) -> Vec<Command> {
        vec![
            (PanelAction::PageDown, "page down"),
            (PanelAction::PageUp, "page up"),
        ]
    }

    fn hidden(&self) -> (usize, usize) {
        self.scroll.hidden()
    }
}
