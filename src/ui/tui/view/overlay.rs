//! Draws the overlays.

use ratatui::prelude::{Line, Position, Rect, Span, Style, Widget};
use ratatui::widgets::{Block, Clear};
use ratatui_textarea::TextArea;

use crate::tui::update::palette::entries;
use crate::tui::{
    Area, Ask, ChoiceList, Confirm, Model, Overlay, Palette, Pane, Panel, both_ends, first_shown,
    paragraph,
};
use tinyllama_base::wrap::{LongWords, line_ranges};

/// Lines of an entry of a list. A copied file may have thousands.
const LONGEST_ENTRY: usize = 4;

/// Draws the overlay and returns the position of the cursor.
pub fn draw(model: &Model, pane: &mut Pane) -> Option<Position> {
    let overlay = model.overlay.as_ref()?;
    if let Some(panel) = model.top_panel() {
        // The panel covers everything but the command bar. A notice to the learner stays visible.
        let rows = match model.notice {
            Some(_) => 1 + super::status::height(model, pane.area.width),
            None => 1,
        };
        draw_panel(panel, rows, pane);
    }
    match overlay {
        Overlay::Panel(_) => None,
        Overlay::Palette(palette) => Some(draw_palette(model, palette, pane)),
        Overlay::Ask(ask) => Some(draw_ask(ask, pane)),
        Overlay::Confirm(confirm) => {
            draw_confirm(*confirm, pane);
            None
        }
    }
}

/// Draws a cleared box with a title and returns the pane inside.
pub fn framed<'a>(title: &str, outside: Rect, pane: &'a mut Pane) -> Pane<'a> {
    Clear.render(outside, pane.buffer);
    let block = Block::bordered()
        .border_set(pane.theme.glyphs.border)
        .border_style(pane.theme.accent())
        .title(Line::styled(format!(" {title} "), pane.theme.heading()));
    let inside = block.inner(outside);
    block.render(outside, pane.buffer);
    pane.sub_pane(inside)
}

fn draw_panel(panel: &dyn Panel, rows_left: u16, pane: &mut Pane) {
    let outside = Rect {
        height: pane.area.height.saturating_sub(rows_left),
        ..pane.area
    };
    let mut pane = framed(&panel.title(), outside, pane);
    let border = Rect {
        y: pane.area.bottom(),
        height: 1,
        ..pane.area
    };
    if matches!(panel.area(), Area::Page | Area::Welcome) {
        // A text is easier to read with a margin.
        pane.area.x += 1;
        pane.area.width = pane.area.width.saturating_sub(2);
    }
    panel.draw(pane.sub_pane(pane.area));
    super::more(border, panel.hidden(), &mut pane);
}

fn draw_palette(model: &Model, palette: &Palette, pane: &mut Pane) -> Position {
    let area = pane.area;
    let width = area.width.saturating_sub(4).min(100);
    let most = (area.height * 2 / 3).max(18);
    let height = area.height.saturating_sub(4).min(most);
    let outside = Rect::new(area.x + (area.width - width) / 2, area.y + 1, width, height);
    let title = match &palette.list {
        ChoiceList::Everything => "Find",
        ChoiceList::Pages(_) => "Read",
        ChoiceList::Paths => "Choose a path",
        ChoiceList::Copies(_) => "Copy",
        ChoiceList::Commands => "Commands of this visit",
        ChoiceList::Command(_) => "This command",
    };
    let mut pane = framed(title, outside, pane);
    let cursor = field(&palette.query, pane.take(1));
    let list = entries(model, palette);
    if list.is_empty() {
        pane.remark("nothing matches these letters");
    }
    let (selected, width) = (palette.cursor.row, pane.area.width);
    let rows = list.iter().enumerate().map(|(index, entry)| {
        let (theme, is_selected) = (&model.theme, index == selected);
        let (style, key) = match is_selected {
            true => (theme.selection(), theme.selection()),
            false => (theme.text(), theme.accent()),
        };
        let copied = entry.copied.as_ref();
        let sign = match copied.is_some_and(|copied| palette.marked.contains(copied)) {
            true => theme.glyphs.bullet,
            false => "",
        };
        let key = Span::styled(entry.key.clone(), key);
        let room = width.saturating_sub(u16::try_from(key.width() + 2).unwrap_or(0));
        // Commands differ at their ends. Whole files are not told apart in a list.
        let label = entry
            .label
            .chars()
            .take(usize::from(room) * (LONGEST_ENTRY + 1));
        let label = sign.chars().chain(label).collect::<String>();
        let mut lines = paragraph(&label, room, style);
        if lines.len() > LONGEST_ENTRY {
            lines.truncate(LONGEST_ENTRY);
            lines[LONGEST_ENTRY - 1].push_span(Span::styled(theme.glyphs.ellipsis, style));
        }
        let first = std::mem::take(&mut lines[0]);
        lines[0] = both_ends(first.spans, key, 2, width, theme);
        (lines, style)
    });
    let rows: Vec<_> = rows.collect();
    let heights: Vec<usize> = rows.iter().map(|(lines, _)| lines.len()).collect();
    let first = first_shown(selected, &heights, pane.area.height.into());
    for (lines, style) in rows.into_iter().skip(first) {
        let mut row = pane.take(u16::try_from(lines.len()).unwrap_or(1));
        row.buffer.set_style(row.area, style);
        row.put(lines);
    }
    cursor
}

fn draw_ask(ask: &Ask, pane: &mut Pane) -> Position {
    let area = pane.area;
    // Frame and margin take two columns on each side.
    let inside = area.width.saturating_sub(4);
    let rows = match ask.has_lines {
        true => area.height.saturating_sub(4).clamp(3, 12),
        false => {
            // Flags of a run may be longer than a narrow screen is wide.
            let line = ask.input.lines().first().map_or("", String::as_str);
            let rows = broken(line, usize::from(inside.saturating_sub(1)).max(1)).len();
            u16::try_from(rows.min(4)).unwrap_or(1)
        }
    };
    let (help, style) = match &ask.problem {
        Some(problem) => (problem.as_str(), pane.theme.warning()),
        None => (ask.explain, pane.theme.muted()),
    };
    let help = paragraph(help, inside, style);
    let below = u16::try_from(help.len()).unwrap_or(1);
    let height = (rows + below + 2).min(area.height.saturating_sub(1));
    let outside = Rect {
        y: area.bottom().saturating_sub(height + 1),
        height,
        ..area
    };
    let mut pane = framed(&ask.title, outside, pane);
    pane.area.x += 1;
    pane.area.width = pane.area.width.saturating_sub(2);
    let input = pane.take(pane.area.height.saturating_sub(below));
    let written = match ask.has_lines {
        true => input.theme.text(),
        false => input.theme.emphasis(),
    };
    let cursor = text(&ask.input, written, input);
    pane.put(help);
    cursor
}

/// Draws one line of text, shifted to keep the cursor visible.
fn field(input: &TextArea<'_>, mut pane: Pane) -> Position {
    let line = input.lines().first().map_or("", String::as_str);
    let column = input.cursor().1;
    let room = pane.width().saturating_sub(1).max(1);
    let first = column.saturating_sub(room);
    let shown: String = line.chars().skip(first).take(room).collect();
    let Position { x, y } = pane.area.as_position();
    pane.put([Line::styled(shown, pane.theme.emphasis())]);
    Position::new(x + u16::try_from(column - first).unwrap_or(0), y)
}

/// Draws wrapped text, scrolled to keep the cursor visible.
fn text(input: &TextArea<'_>, style: Style, mut pane: Pane) -> Position {
    let width = pane.width().saturating_sub(1).max(1);
    let cursor = input.cursor();
    let (line, column) = (cursor.0, cursor.1);
    let mut rows: Vec<String> = Vec::new();
    let mut place = (0, 0);
    for (index, text) in input.lines().iter().enumerate() {
        let mut at = 0;
        for row in broken(text, width) {
            let length = row.chars().count();
            if index == line && (at..=at + length).contains(&column) {
                place = (rows.len(), column - at);
            }
            at += length;
            rows.push(row);
        }
    }
    let height = usize::from(pane.area.height).max(1);
    let first = (place.0 + 1).saturating_sub(height);
    let Position { x, y } = pane.area.as_position();
    let shown = rows.into_iter().skip(first);
    pane.put(shown.map(|row| Line::styled(row, style)));
    Position::new(
        x + u16::try_from(place.1).unwrap_or(0),
        y + u16::try_from(place.0 - first).unwrap_or(0),
    )
}

/// Splits a line into one or more pieces of at most `width`, after blanks if possible. Keeps every character: the blanks
/// after a word may exceed the width.
fn broken(line: &str, width: usize) -> Vec<String> {
    let rows = line_ranges(line, width, LongWords::Cut);
    let ends = rows.iter().skip(1).map(|row| row.start).chain([line.len()]);
    let rows = rows.iter().zip(ends);
    rows.map(|(row, end)| line[row.start..end].to_owned())
        .collect()
}

fn draw_confirm(confirm: Confirm, pane: &mut Pane) {
    let text = match confirm {
        Confirm::Stop(_) => "Stop this run? What it measured so far is kept.",
        Confirm::Remove => "Delete the marked runs for good? Runs of the course stay.",
        Confirm::Quit => "A run is in progress and would be stopped. Quit anyway?",
    };
    let area = pane.area;
    let width = (u16::try_from(text.len()).unwrap_or(50) + 6).min(area.width);
    let outside = Rect::new(
        area.x + (area.width - width) / 2,
        area.y + area.height / 2 - 2,
        width,
        4,
    );
    let mut pane = framed("Sure?", outside, pane);
    let accent = pane.theme.accent();
    pane.put([
        Line::raw(format!(" {text}")),
        Line::styled(" y yes, any other key no", accent),
    ]);
}
