//! A page to read: fixed lines, paragraphs, or Markdown.

use std::cell::RefCell;

use ratatui::text::Line;

use crate::tui::{Area, Pane, Panel, PanelCommand, Scroll, Tone, paragraph};
use tinyllama_tutor_core::PanelAction;

#[derive(Debug)]
pub enum PageText {
    Lines(Vec<Line<'static>>),
    Paragraphs(Vec<(String, Tone)>),
    Markdown(String),
}

#[derive(Debug)]
pub struct TextPage {
    title: String,
    text: PageText,
    area: Area,
    scroll: Scroll,
    search: String,
    /// Describes what Enter does, if it does more than close the page.
    enter: Option<&'static str>,
    /// The lines drawn last, in lower case.
    drawn: RefCell<Vec<String>>,
}

impl TextPage {
    pub fn new(title: impl Into<String>, text: PageText) -> Self {
        Self {
            title: title.into(),
            text,
            area: Area::Page,
            scroll: Scroll::default(),
            search: String::new(),
            enter: None,
            drawn: RefCell::default(),
        }
    }

    /// Exchanges the text and keeps the place.
    pub fn renew(&mut self, text: PageText) {
        self.text = text;
    }

    /// Sets what happens when Enter closes the page.
    pub fn leading_to(self, enter: &'static str) -> Self {
        let enter = Some(enter);
        Self { enter, ..self }
    }

    /// Gives the page the keys of another area.
    pub fn with_keys_of(self, area: Area) -> Self {
        Self { area, ..self }
    }
}

impl Panel for TextPage {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn area(&self) -> Area {
        self.area
    }

    fn paint(&self, pane: &mut Pane) {
        let lines = match &self.text {
            PageText::Lines(lines) => lines.clone(),
            PageText::Paragraphs(paragraphs) => paragraphs
                .iter()
                .flat_map(|(text, tone)| paragraph(text, pane.area.width, pane.theme.tone(*tone)))
                .collect(),
            PageText::Markdown(text) => pane.markdown(text),
        };
        let drawn = lines.iter().map(|line| line.to_string().to_lowercase());
        self.drawn.replace(drawn.collect());
        let first = self.scroll.first(lines.len(), pane.area.height.into());
        let area = pane.area;
        pane.put(lines.into_iter().skip(first));
        pane.sub_pane(area).mark(&self.search);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        self.scroll.act(action, self.scroll.page())
    }

    fn commands(&self) -> Vec<PanelCommand> {
        match self.area {
            Area::Page => vec![(PanelAction::PageDown, "page down")],
            _ => Vec::new(),
        }
    }

    fn on_enter(&self) -> Option<&'static str> {
        self.enter
    }

    fn text(&self) -> Option<&str> {
        match &self.text {
            PageText::Markdown(text) => Some(text),
            _ => None,
        }
    }

    fn search(&mut self, text: Option<&str>, forward: bool) -> Option<(usize, usize)> {
        if let Some(text) = text {
            self.search = text.to_lowercase();
        }
        if self.search.is_empty() {
            return None;
        }
        let drawn = self.drawn.borrow();
        let lines = drawn.iter().enumerate();
        let found = lines.filter(|(_, line)| line.contains(&self.search));
        let found: Vec<usize> = found.map(|(at, _)| at).collect();
        self.scroll.to_match(&found, forward)
    }

    fn hidden(&self) -> (usize, usize) {
        self.scroll.hidden()
    }
}
