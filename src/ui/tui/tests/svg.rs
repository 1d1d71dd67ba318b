//! A picture of the screen as SVG, for the README.

use std::fmt::Write;

use ratatui::buffer::Cell;
use ratatui::prelude::{Buffer, Color, Modifier};

use tinyllama_base::untrusted::HtmlWriter;

/// SVG units of a cell and of the margin.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 12.0;

const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d6d9e0";

/// The 16 colours of a common dark theme.
fn colour(colour: Color) -> Option<&'static str> {
    Some(match colour {
        Color::Black => "#16181d",
        Color::Red | Color::LightRed => "#f07178",
        Color::Green | Color::LightGreen => "#8fd27a",
        Color::Yellow | Color::LightYellow => "#e7c66b",
        Color::Blue | Color::LightBlue => "#6ea8fe",
        Color::Magenta | Color::LightMagenta => "#d19af0",
        Color::Cyan | Color::LightCyan => "#5fd0dc",
        Color::Gray | Color::White => FOREGROUND,
        Color::DarkGray => "#7a8090",
        _ => return None,
    })
}

/// The style of a cell: its colour, its background, bold, faint, underlined.
#[derive(Clone, Copy, PartialEq)]
struct CellStyle {
    ink: &'static str,
    paper: Option<&'static str>,
    modifiers: Modifier,
    /// Characters outside ASCII come from other fonts, so each one is placed separately in its cell.
    is_ascii: bool,
}

impl CellStyle {
    fn from_cell(cell: &Cell) -> Self {
        let (ink, paper) = (colour(cell.fg), colour(cell.bg));
        let (ink, paper) = match cell.modifier.contains(Modifier::REVERSED) {
            true => (paper.unwrap_or(BACKGROUND), Some(ink.unwrap_or(FOREGROUND))),
            false => (ink.unwrap_or(FOREGROUND), paper),
        };
        CellStyle {
            ink,
            paper,
            modifiers: cell.modifier,
            is_ascii: cell.symbol().is_ascii(),
        }
    }
}

/// The whole picture as a terminal of its size would show it.
pub fn svg(buffer: &Buffer, title: &str) -> String {
    let area = buffer.area;
    let (width, height) = (
        f64::from(area.width) * CELL.0 + 2.0 * MARGIN,
        f64::from(area.height) * CELL.1 + 2.0 * MARGIN,
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" role=\"img\">\n<title>{}</title>\n\
         <style>text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n",
        HtmlWriter(title)
    );
    for y in area.rows().map(|row| row.y) {
        let mut x = area.left();
        while x < area.right() {
            let look = CellStyle::from_cell(&buffer[(x, y)]);
            let mut end = x + 1;
            let is_blank = |x: u16| buffer[(x, y)].symbol() == " ";
            while look.is_ascii
                && end < area.right()
                && CellStyle::from_cell(&buffer[(end, y)]) == look
            {
                // SVG merges blanks within a text.
                if is_blank(end - 1) && is_blank(end) != is_blank(x) {
                    break;
                }
                end += 1;
            }
            let text: String = (x..end).map(|x| buffer[(x, y)].symbol()).collect();
            piece(&mut out, (x, y, end - x), &text, look);
            x = end;
        }
    }
    out.push_str("</svg>\n");
    out
}

fn piece(out: &mut String, (column, row, length): (u16, u16, u16), text: &str, look: CellStyle) {
    let (x, y) = (
        MARGIN + f64::from(column) * CELL.0,
        MARGIN + f64::from(row) * CELL.1,
    );
    let wide = f64::from(length) * CELL.0;
    if let Some(paper) = look.paper {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{}\" fill=\"{paper}\"/>",
            CELL.1
        );
    }
    // SVG drops blanks at the ends of a text.
    let (letters, blanks) = (text.trim(), text.len() - text.trim_start().len());
    if letters.is_empty() {
        return;
    }
    let x = x + blanks as f64 * CELL.0;
    let wide = letters.chars().count() as f64 * CELL.0;
    let mut style = String::new();
    for (modifier, attribute) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::DIM, " opacity=\"0.6\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
    ] {
        if look.modifiers.contains(modifier) {
            style.push_str(attribute);
        }
    }
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{wide:.1}\" fill=\"{}\"{style}>{}</text>",
        y + 13.5,
        look.ink,
        HtmlWriter(letters)
    );
}
