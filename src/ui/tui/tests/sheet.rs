//! Snapshots of panels: one sheet with every size, with colours, without, and in ASCII.

use std::fmt::Write;

use ratatui::prelude::{Buffer, Color, Rect, Style};

pub use crate::tui::pane::text;
use crate::tui::{Pane, Theme};

/// Sizes at which the tutor has to look well.
pub const SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 40), (160, 45)];

/// The picture at every size: as text, then its styles with colours and with attributes only, and in ASCII.
///
/// Panics if the ASCII picture contains another character, or if a picture without colours has one.
pub fn sheet(draw: impl Fn(Pane)) -> String {
    let mut sheet = String::new();
    for (width, height) in SIZES {
        let picture = |no_color, ascii| {
            let area = Rect::new(0, 0, width, height);
            let mut buffer = Buffer::empty(area);
            let theme = Theme::new(no_color, ascii);
            draw(Pane::new(area, &mut buffer, &theme));
            buffer
        };
        let colour = picture(false, false);
        let mono = picture(true, false);
        let ascii = picture(true, true);
        let _ = write!(sheet, "=== {width}x{height}\n{}", text(&colour));
        let _ = write!(sheet, "--- styles in colour\n{}", styles(&colour));
        let _ = write!(sheet, "--- styles without\n{}", styles(&mono));
        let drawn = text(&ascii);
        assert!(
            drawn.is_ascii(),
            "not all ASCII at {width}x{height}:\n{drawn}"
        );
        assert!(
            mono.content()
                .iter()
                .all(|cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset)),
            "a colour without colours at {width}x{height}"
        );
        let _ = write!(sheet, "--- ASCII\n{drawn}");
    }
    sheet
}

/// Runs of cells with a style: `row:from-to style`.
pub fn styles(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let mut list = String::new();
    for (y, row) in buffer.content().chunks(width).enumerate() {
        let mut runs: Vec<(usize, usize, Style)> = Vec::new();
        for (x, cell) in row.iter().enumerate() {
            let style = cell.style();
            match runs.last_mut() {
                Some((_, end, run)) if *run == style && *end + 1 == x => *end = x,
                _ => runs.push((x, x, style)),
            }
        }
        for (from, to, style) in runs {
            let name = name(style);
            if !name.is_empty() {
                let _ = writeln!(list, "{y}:{from}-{to} {name}");
            }
        }
    }
    list
}

fn name(style: Style) -> String {
    let mut parts = Vec::new();
    if let Some(colour) = style.fg.filter(|colour| *colour != Color::Reset) {
        parts.push(colour.to_string().to_lowercase());
    }
    if let Some(colour) = style.bg.filter(|colour| *colour != Color::Reset) {
        parts.push(format!("on {}", colour.to_string().to_lowercase()));
    }
    if !style.add_modifier.is_empty() {
        parts.push(format!("{:?}", style.add_modifier).to_lowercase());
    }
    parts.join(" ")
}
