//! Draws the model. This module changes nothing.

pub mod bar;
mod document;
mod header;
mod layout;
mod outline;
mod overlay;
mod status;
#[cfg(test)]
mod tests;

use ratatui::prelude::{Buffer, Line, Position, Rect, Span, Widget};
use ratatui::widgets::Clear;

pub use self::document::document;
pub use self::layout::text_area;
pub use self::overlay::framed;
use super::model::SMALLEST;
use crate::tui::{Model, Pane, Reveal};

/// Draws everything and returns the position of the cursor.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    Clear.render(area, buffer);
    let mut pane = Pane {
        highlighter: model.highlighter.as_deref(),
        ..Pane::new(area, buffer, &model.theme)
    };
    if model.is_too_small() {
        let (columns, rows) = SMALLEST;
        let text = format!(
            "This terminal has {} columns and {} rows; the tutor needs {columns} and {rows}.",
            area.width, area.height
        );
        pane.put_text(&text, model.theme.warning());
        return None;
    }
    let areas = layout::areas(model, area);
    header::draw(model, pane.sub_pane(areas.header));
    if let Some(area) = areas.outline {
        outline::draw(model, pane.sub_pane(area));
    }
    // The divider left of the figures shows whether they have the keys.
    let focused = areas.dividers.len() - usize::from(areas.figures.is_some());
    for (at, area) in areas.dividers.iter().enumerate() {
        let style = match at == focused && model.has_panel_open() {
            true => model.theme.accent(),
            false => model.theme.muted(),
        };
        let border = Line::styled(model.theme.glyphs.vertical, style);
        let rows = (0..area.height).map(|_| border.clone());
        pane.sub_pane(*area).put(rows);
    }
    status::draw(model, pane.sub_pane(areas.status));
    if let Some((area, panel)) = areas.figures.zip(model.step_panel()) {
        panel.draw(pane.sub_pane(area));
    }
    if let Some(area) = areas.content {
        content(model, area, areas.status, &mut pane);
    }
    let cursor = overlay::draw(model, &mut pane);
    // A panel knows only after it was drawn which of its keys do something.
    bar::draw(model, pane.sub_pane(areas.bar));
    if model.overlay.is_some() && model.notice.is_some() {
        // An instructor's message can come at any time and must not wait behind an overlay.
        Clear.render(areas.status, pane.buffer);
        status::draw(model, pane.sub_pane(areas.status));
    }
    cursor
}

fn content(model: &Model, area: Rect, status: Rect, pane: &mut Pane) {
    let Some(view) = &model.step else {
        return welcome(model, pane.sub_pane(layout::inside(area)));
    };
    if view.panel_open && !model.has_figures_beside() {
        if let Some(panel) = model.step_panel() {
            panel.draw(pane.sub_pane(area));
            more(status, panel.hidden(), pane);
        }
        return;
    }
    let document = document(model);
    let text = layout::inside(area);
    let (lines, room) = (document.lines.len(), usize::from(text.height));
    let revealed = view.reveal.take().and_then(|reveal| match reveal {
        Reveal::Choice => document.choice,
        Reveal::News => document.news.map(|from| (from, lines)),
    });
    if let Some((from, to)) = revealed {
        view.scroll.show(from, to, lines, room);
    }
    let first = view.scroll.first(lines, room);
    pane.sub_pane(text)
        .put(document.lines.into_iter().skip(first));
    pane.sub_pane(text)
        .mark(view.search.as_deref().unwrap_or_default());
    more(status, view.scroll.hidden(), pane);
}

/// Writes the number of lines above and below the visible part, at the right end of `row`.
pub fn more(row: Rect, (above, below): (usize, usize), pane: &mut Pane) {
    let glyphs = &pane.theme.glyphs;
    let mut text = String::new();
    for (glyph, lines) in [(glyphs.more_above, above), (glyphs.more_below, below)] {
        if lines > 0 {
            text.push_str(&format!(" {glyph} {lines}"));
        }
    }
    let width = u16::try_from(text.chars().count() + 1).unwrap_or(0);
    if width > 1 && width <= row.width {
        let x = row.right() - width;
        let style = pane.theme.accent();
        let last = row.bottom().saturating_sub(1);
        pane.buffer.set_string(x, last, text, style);
    }
}

/// The text next to the outline as long as no step is open.
fn welcome(model: &Model, mut pane: Pane) {
    let theme = &model.theme;
    let title = Line::styled(model.course.title.clone(), theme.heading());
    let summary = super::markdown::render(&model.course.summary, pane.area.width, theme, None);
    pane.put([title, Line::default()]);
    pane.put(summary);
    pane.put([
        Line::default(),
        Line::from(vec![
            Span::raw("Choose a lesson and press "),
            Span::styled("enter", theme.accent()),
            Span::raw("."),
        ]),
    ]);
}
