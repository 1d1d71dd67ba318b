//! Draws the model. Nothing here changes anything.

mod bar;
mod document;
mod header;
mod help;
mod layout;
mod outline;
mod overlay;
mod status;
#[cfg(test)]
mod tests;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Widget};

pub use self::document::{Document, document};
pub use self::layout::text_area;
pub use self::overlay::page_lines;
use super::model::{Model, SMALLEST, Screen};
use super::panel::Panel;

/// Draws everything, and says where the cursor belongs.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    Clear.render(area, buffer);
    if model.is_too_small() {
        let (columns, rows) = SMALLEST;
        let text = format!(
            "This terminal has {} columns and {} rows; the tutor needs {columns} and {rows}.",
            area.width, area.height
        );
        let style = model.theme.warning();
        Paragraph::new(super::markdown::wrap::wrap_plain(
            &text,
            usize::from(area.width),
            style,
        ))
        .render(area, buffer);
        return None;
    }
    let areas = layout::areas(model, area);
    header::draw(model, areas.header, buffer);
    if let Some(area) = areas.outline {
        outline::draw(model, area, buffer);
    }
    if let Some(area) = areas.divider {
        for y in area.top()..area.bottom() {
            let glyph = model.theme.glyphs.vertical;
            buffer.set_string(area.x, y, glyph, model.theme.border());
        }
    }
    status::draw(model, areas.status, buffer);
    if let Some(area) = areas.content {
        content(model, area, areas.status, buffer);
    }
    bar::draw(model, areas.bar, buffer);
    let cursor = overlay::draw(model, area, buffer);
    if model.overlay.is_some() && model.notice.is_some() {
        // An instructor's word comes at any moment: it must not wait behind what lies over the screen.
        Clear.render(areas.status, buffer);
        status::draw(model, areas.status, buffer);
    }
    cursor
}

fn content(model: &Model, area: Rect, status: Rect, buffer: &mut Buffer) {
    let Some(view) = &model.step else {
        return welcome(model, area, buffer);
    };
    if view.panel_open {
        if let Some(panel) = open_panel(model) {
            panel.render(area, buffer, &model.theme);
        }
        return;
    }
    let document = document(model);
    let text = layout::inside(area);
    let height = usize::from(text.height);
    let scroll = view.scroll.min(document.lines.len().saturating_sub(height));
    let rest = document.lines.len().saturating_sub(scroll + height);
    for (y, line) in (text.top()..text.bottom()).zip(document.lines.iter().skip(scroll)) {
        buffer.set_line(text.x, y, line, text.width);
        if let Some(search) = &view.search {
            mark(buffer, Rect::new(text.x, y, text.width, 1), search, model);
        }
    }
    more(model, status, scroll, rest, buffer);
}

/// Lines above and below what is shown, at the right end of `row`.
fn more(model: &Model, row: Rect, above: usize, below: usize, buffer: &mut Buffer) {
    let glyphs = &model.theme.glyphs;
    let mut text = String::new();
    if above > 0 {
        text.push_str(&format!(" {} {above}", glyphs.more_above));
    }
    if below > 0 {
        text.push_str(&format!(" {} {below}", glyphs.more_below));
    }
    let width = u16::try_from(text.chars().count() + 1).unwrap_or(0);
    if width > 1 && width <= row.width {
        let x = row.right() - width;
        buffer.set_string(x, row.y, text, model.theme.accent());
    }
}

/// Reverses every place where the searched word stands in a row.
fn mark(buffer: &mut Buffer, row: Rect, search: &str, model: &Model) {
    let cells: Vec<String> = (row.left()..row.right())
        .map(|x| buffer[(x, row.y)].symbol().to_lowercase())
        .collect();
    let wanted: Vec<String> = search
        .to_lowercase()
        .chars()
        .map(|c| c.to_string())
        .collect();
    if wanted.is_empty() {
        return;
    }
    for (start, window) in cells.windows(wanted.len()).enumerate() {
        if window != wanted.as_slice() {
            continue;
        }
        let x = row.x + u16::try_from(start).unwrap_or(0);
        let width = u16::try_from(wanted.len()).unwrap_or(0);
        buffer.set_style(Rect::new(x, row.y, width, 1), model.theme.selection());
    }
}

fn open_panel(model: &Model) -> Option<&dyn Panel> {
    let view = model.step.as_ref()?;
    if let Some(panel) = &view.compare {
        return Some(panel);
    }
    if let Some(panel) = &view.profile.panel {
        return Some(panel);
    }
    model.run_at(&view.at).map(|run| &run.view as &dyn Panel)
}

/// Beside the outline, as long as no step is open.
fn welcome(model: &Model, area: Rect, buffer: &mut Buffer) {
    let text = layout::inside(area);
    let mut lines = vec![
        Line::styled(model.course.title.clone(), model.theme.heading()),
        Line::default(),
    ];
    lines.extend(super::markdown::render(
        &model.course.summary,
        text.width,
        &model.theme,
        None,
    ));
    lines.push(Line::default());
    lines.push(Line::from(vec![
        Span::raw("Choose a lesson and press "),
        Span::styled("enter", model.theme.accent()),
        Span::raw("."),
    ]));
    Paragraph::new(lines).render(text, buffer);
}

/// Whether the outline is what the keys go to.
fn outline_has_keys(model: &Model) -> bool {
    model.screen == Screen::Outline
}
