//! The help page, made from the key map.

use ratatui::text::{Line, Span};

use super::page::{Page, Text};
use crate::tui::keys::Area;
use crate::tui::message::Effect;
use crate::tui::model::Model;

/// Columns of the keys.
const KEYS: usize = 20;

pub fn open(model: &mut Model) -> Vec<Effect> {
    let page = Page::new("Keys", Text::Lines(lines(model)));
    model.open(page)
}

fn lines(model: &Model) -> Vec<Line<'static>> {
    let theme = &model.theme;
    let mut lines = Vec::new();
    for area in Area::ALL {
        lines.push(Line::styled(area.title(), theme.heading()));
        for binding in model.keys.of(area).filter(|it| !it.keys.is_empty()) {
            let keys: Vec<String> = binding.keys.iter().map(ToString::to_string).collect();
            let keys = format!("  {:<KEYS$} ", keys.join(", "));
            let does = Span::raw(binding.does);
            lines.push(Line::from(vec![Span::styled(keys, theme.accent()), does]));
        }
        lines.push(Line::default());
    }
    lines.push(Line::raw("A digit goes to a choice of a question."));
    lines.push(Line::raw(
        "The keys can be changed in tinyllama-tutor/keys.yaml in your configuration folder, such as",
    ));
    let example = "  step: { next: [n, ctrl-n] }";
    lines.push(Line::styled(example, theme.code()));
    lines
}
