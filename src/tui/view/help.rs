//! The help page, made from the key map.

use ratatui::text::{Line, Span};

use crate::tui::keys::{ACTIONS, Area};
use crate::tui::model::Model;

/// Columns of the keys.
const KEYS: usize = 20;

pub fn lines(model: &Model) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for area in [
        Area::Step,
        Area::Panel,
        Area::Outline,
        Area::Page,
        Area::Everywhere,
    ] {
        let title = match area {
            Area::Everywhere => "Everywhere",
            Area::Outline => "In the outline",
            Area::Step => "At a step",
            Area::Panel => "In figures",
            Area::Page => "On a page like this",
        };
        lines.push(Line::styled(title, model.theme.heading()));
        for spec in ACTIONS.iter().filter(|spec| spec.area == area) {
            let keys: Vec<String> = model
                .keys
                .of(spec.action)
                .iter()
                .map(ToString::to_string)
                .collect();
            if keys.is_empty() {
                continue;
            }
            lines.push(Line::from(vec![
                Span::styled(
                    format!("  {:<KEYS$} ", keys.join(", ")),
                    model.theme.accent(),
                ),
                Span::raw(spec.does),
            ]));
        }
        lines.push(Line::default());
    }
    lines.push(Line::raw("A digit goes to a choice of a question."));
    lines.push(Line::raw(
        "The keys can be changed in tinyllama-tutor/keys.yaml in your configuration folder, such as",
    ));
    lines.push(Line::styled(
        "  step: { next: [n, ctrl-n] }",
        model.theme.code(),
    ));
    lines
}
