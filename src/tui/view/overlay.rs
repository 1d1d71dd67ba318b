//! What lies over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Widget};
use ratatui_textarea::TextArea;

use super::help;
use crate::tui::markdown;
use crate::tui::model::Model;
use crate::tui::model::overlay::{Ask, Confirm, Overlay, Page, PageContent, Palette, Question};
use crate::tui::panels::text::cut;
use crate::tui::update::entries;

/// Draws the overlay, and says where the cursor belongs.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    match model.overlay.as_ref()? {
        Overlay::Page(page) => {
            draw_page(model, page, area, buffer);
            None
        }
        Overlay::Figures(figures) => {
            let inside = framed(model, figures.title(), figures_area(model, area), buffer);
            figures.panel().render(inside, buffer, &model.theme);
            None
        }
        Overlay::Palette(palette) => Some(draw_palette(model, palette, area, buffer)),
        Overlay::Ask(ask) => Some(draw_ask(model, ask, area, buffer)),
        Overlay::Confirm(confirm) => {
            draw_confirm(model, confirm, area, buffer);
            None
        }
    }
}

/// A cleared box with a title; returns its inside.
fn framed(model: &Model, title: &str, area: Rect, buffer: &mut Buffer) -> Rect {
    Clear.render(area, buffer);
    let block = Block::bordered()
        .border_set(model.theme.glyphs.border)
        .border_style(model.theme.border_focused())
        .title(Line::styled(format!(" {title} "), model.theme.heading()));
    let inside = block.inner(area);
    block.render(area, buffer);
    inside
}

/// Everything but the command bar.
fn page_area(area: Rect) -> Rect {
    Rect {
        height: area.height.saturating_sub(1),
        ..area
    }
}

/// The same, and a word to the learner stays in view.
fn figures_area(model: &Model, area: Rect) -> Rect {
    let status = u16::from(model.notice.is_some());
    Rect {
        height: area.height.saturating_sub(1 + status),
        ..area
    }
}

fn page_text(model: &Model, page: &Page, width: u16) -> Vec<Line<'static>> {
    match &page.content {
        PageContent::Help => help::lines(model),
        PageContent::Markdown(text) => {
            markdown::render(text, width, &model.theme, model.highlighter.as_deref())
        }
    }
}

/// Lines of the page that is open, and how many fit.
pub fn page_lines(model: &Model) -> (usize, usize) {
    let (width, height) = model.size;
    let rows = usize::from(height.saturating_sub(3));
    match &model.overlay {
        Some(Overlay::Page(page)) => (page_text(model, page, width.saturating_sub(4)).len(), rows),
        _ => (0, rows),
    }
}

fn draw_page(model: &Model, page: &Page, area: Rect, buffer: &mut Buffer) {
    let inside = framed(model, &page.title, page_area(area), buffer);
    let lines = page_text(model, page, inside.width.saturating_sub(2));
    let height = usize::from(inside.height);
    let scroll = page.scroll.min(lines.len().saturating_sub(height));
    let rest = lines.len().saturating_sub(scroll + height);
    for (y, line) in (inside.top()..inside.bottom()).zip(lines.iter().skip(scroll)) {
        buffer.set_line(inside.x + 1, y, line, inside.width.saturating_sub(2));
    }
    let border = Rect::new(inside.x, inside.bottom(), inside.width, 1);
    super::more(model, border, scroll, rest, buffer);
}

fn draw_palette(model: &Model, palette: &Palette, area: Rect, buffer: &mut Buffer) -> Position {
    let width = area.width.saturating_sub(8).min(70);
    let height = area.height.saturating_sub(4).min(18);
    let outside = Rect::new(area.x + (area.width - width) / 2, area.y + 1, width, height);
    let inside = framed(model, "Find", outside, buffer);
    let input = Rect {
        height: 1,
        ..inside
    };
    let cursor = field(model, &palette.query, input, buffer);
    let list = entries(model, &palette.text());
    let rows = usize::from(inside.height.saturating_sub(1));
    let first = palette.cursor.saturating_sub(rows.saturating_sub(1));
    if list.is_empty() && inside.height > 1 {
        buffer.set_string(
            inside.x,
            inside.y + 1,
            "nothing has these letters",
            model.theme.muted(),
        );
    }
    for (index, (y, entry)) in (inside.top() + 1..inside.bottom())
        .zip(list.iter().skip(first))
        .enumerate()
    {
        let style = if first + index == palette.cursor {
            model.theme.selection()
        } else {
            model.theme.text()
        };
        let text = cut(&entry.label, usize::from(inside.width), &model.theme);
        buffer.set_style(Rect::new(inside.x, y, inside.width, 1), style);
        buffer.set_string(inside.x, y, text, style);
    }
    cursor
}

fn draw_ask(model: &Model, ask: &Ask, area: Rect, buffer: &mut Buffer) -> Position {
    let lines = ask.question.has_lines();
    let help = ask
        .problem
        .as_deref()
        .unwrap_or_else(|| explain(&ask.question));
    let rows = if lines {
        area.height.saturating_sub(4).clamp(3, 12)
    } else {
        1
    };
    let height = (rows + 3).min(area.height.saturating_sub(1));
    let outside = Rect::new(
        area.x,
        area.bottom().saturating_sub(height + 1),
        area.width,
        height,
    );
    let inside = framed(model, &title(&ask.question), outside, buffer);
    let input = Rect {
        x: inside.x + 1,
        width: inside.width.saturating_sub(2),
        height: inside.height.saturating_sub(1),
        ..inside
    };
    let cursor = if lines {
        text(model, &ask.input, input, buffer)
    } else {
        field(model, &ask.input, input, buffer)
    };
    let style = if ask.problem.is_some() {
        model.theme.warning()
    } else {
        model.theme.muted()
    };
    let help = cut(help, usize::from(input.width), &model.theme);
    buffer.set_string(input.x, inside.bottom().saturating_sub(1), help, style);
    cursor
}

fn title(question: &Question) -> String {
    match question {
        Question::Guess(_, unit) => format!("Your guess, in {unit}"),
        Question::Number(_, unit) if unit.is_empty() => "Your answer".into(),
        Question::Number(_, unit) => format!("Your answer, in {unit}"),
        Question::Flags(_) => "Flags of the run".into(),
        Question::Skip(_) => "Skip this step".into(),
        Question::Search => "Search".into(),
        Question::Reflection(_) => "For your report".into(),
        Question::ProfileCommand(_) => "The profiler's command".into(),
        Question::Import(_) => "Import a profile".into(),
    }
}

fn explain(question: &Question) -> &'static str {
    match question {
        Question::Guess(..) => "A number. The first guess counts; any is better than none.",
        Question::Number(..) => "A number, such as 12.5 or 1e3.",
        Question::Flags(_) => "Enter starts the run with them.",
        Question::Skip(_) => "Why? A word for your report, or nothing.",
        Question::Search => "In the text of this step.",
        Question::Reflection(_) => "Esc keeps what you wrote.",
        Question::ProfileCommand(_) => "Enter keeps it; it is run only when you say so.",
        Question::Import(_) => "A file or folder that a profiler wrote.",
    }
}

/// One line of text, shifted so that the cursor is in view.
fn field(model: &Model, input: &TextArea<'_>, area: Rect, buffer: &mut Buffer) -> Position {
    let line = input.lines().first().map_or("", String::as_str);
    let column = input.cursor().1;
    let room = usize::from(area.width).saturating_sub(1).max(1);
    let first = column.saturating_sub(room);
    let shown: String = line.chars().skip(first).take(room).collect();
    buffer.set_string(area.x, area.y, shown, model.theme.emphasis());
    Position::new(area.x + u16::try_from(column - first).unwrap_or(0), area.y)
}

/// Lines of text, wrapped, scrolled so that the cursor is in view.
fn text(model: &Model, input: &TextArea<'_>, area: Rect, buffer: &mut Buffer) -> Position {
    let width = usize::from(area.width).max(1);
    let cursor = input.cursor();
    let mut rows: Vec<String> = Vec::new();
    let mut place = (0, 0);
    for (index, line) in input.lines().iter().enumerate() {
        let characters: Vec<char> = line.chars().collect();
        if index == cursor.0 {
            place = (rows.len() + cursor.1 / width, cursor.1 % width);
        }
        rows.push(characters.iter().take(width).collect());
        let mut rest = characters.get(width..).unwrap_or_default();
        while !rest.is_empty() {
            rows.push(rest.iter().take(width).collect());
            rest = rest.get(width..).unwrap_or_default();
        }
    }
    let height = usize::from(area.height).max(1);
    let first = (place.0 + 1).saturating_sub(height);
    for (y, row) in (area.top()..area.bottom()).zip(rows.iter().skip(first)) {
        buffer.set_string(area.x, y, row, model.theme.text());
    }
    Position::new(
        area.x + u16::try_from(place.1).unwrap_or(0),
        area.y + u16::try_from(place.0 - first).unwrap_or(0),
    )
}

fn draw_confirm(model: &Model, confirm: &Confirm, area: Rect, buffer: &mut Buffer) {
    let text = match confirm {
        Confirm::Stop(_) => "Stop this run? What it measured so far is kept.",
        Confirm::Quit => "A run is going and would be ended. Quit all the same?",
    };
    let width = (u16::try_from(text.len()).unwrap_or(50) + 6).min(area.width);
    let outside = Rect::new(
        area.x + (area.width - width) / 2,
        area.y + area.height / 2 - 2,
        width,
        4,
    );
    let inside = framed(model, "Sure?", outside, buffer);
    buffer.set_string(inside.x + 1, inside.y, text, model.theme.text());
    buffer.set_string(
        inside.x + 1,
        inside.y + 1,
        "y yes, any other key no",
        model.theme.accent(),
    );
}
