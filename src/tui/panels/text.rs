//! Words and numbers as panels write them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::tui::theme::Theme;

/// Stands where a figure is not known; never 0.
pub use crate::base::units::NOT_REPORTED;

/// Columns `text` takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The start of `text` in at most `most` columns, with an ellipsis where something is missing.
pub fn cut(text: &str, most: usize, theme: &Theme) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let ellipsis = theme.glyphs.ellipsis;
    let mut kept = start(text, most.saturating_sub(width(ellipsis))).to_owned();
    kept.push_str(start(ellipsis, most));
    kept
}

/// Both ends of `text`: what tells the names of kernels apart is often at their end.
pub fn cut_middle(text: &str, most: usize, theme: &Theme) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let ellipsis = theme.glyphs.ellipsis;
    let room = most.saturating_sub(width(ellipsis));
    if room < 6 {
        return cut(text, most, theme);
    }
    let front = start(text, room.div_ceil(2));
    let back: String = text.chars().rev().collect();
    let back: String = start(&back, room / 2).chars().rev().collect();
    format!("{front}{ellipsis}{back}")
}

fn start(text: &str, most: usize) -> &str {
    let mut columns = 0;
    for (at, character) in text.char_indices() {
        columns += character.width().unwrap_or(0);
        if columns > most {
            return &text[..at];
        }
    }
    text
}

/// `text` in lines of at most `most` columns, broken between words where possible; at least one line.
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && width(&line) + 1 + width(word) > most {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        let mut rest = word;
        while width(rest) > most.saturating_sub(width(&line)) {
            let fits = start(rest, most.saturating_sub(width(&line)));
            // A character wider than the line: it is better cut off than looped over.
            let fits = if fits.is_empty() { rest } else { fits };
            line.push_str(fits);
            rest = &rest[fits.len()..];
            lines.push(std::mem::take(&mut line));
        }
        line.push_str(rest);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Writes lines below each other until the area is full; returns what is left of it.
pub fn put(
    lines: impl IntoIterator<Item = Line<'static>>,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    let mut rest = area;
    for line in lines {
        if rest.height == 0 || rest.width == 0 {
            break;
        }
        buffer.set_line(rest.x, rest.y, &line, rest.width);
        rest.y += 1;
        rest.height -= 1;
    }
    rest
}

/// Wrapped text in one style.
pub fn paragraph(text: &str, width: u16, style: Style) -> Vec<Line<'static>> {
    wrap(text, usize::from(width))
        .into_iter()
        .map(|line| Line::from(Span::styled(line, style)))
        .collect()
}

/// A text at the left end of a line and one at its right end; the left one gives way.
pub fn both_ends(
    left: Span<'static>,
    right: Span<'static>,
    width: u16,
    theme: &Theme,
) -> Line<'static> {
    let width = usize::from(width);
    let taken = right.width();
    let room = width.saturating_sub(taken + 1);
    let shown = cut(&left.content, room, theme);
    let gap = width.saturating_sub(self::width(&shown) + taken);
    Line::from(vec![
        Span::styled(shown, left.style),
        Span::raw(" ".repeat(gap)),
        right,
    ])
}

/// A bar of `columns`, filled by `share` (0 to 1); anything above nothing shows.
pub fn bar(share: f64, columns: usize, theme: &Theme) -> (String, String) {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let mut full = (share * columns as f64).round() as usize;
    if share > 0.0 {
        full = full.max(1).min(columns);
    }
    let [filled, empty] = theme.glyphs.bar;
    (filled.repeat(full), empty.repeat(columns - full))
}

/// Seconds in the unit a person would say.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return NOT_REPORTED.to_owned();
    }
    let seconds = seconds.max(0.0);
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// Milliseconds with three or four digits that mean something.
pub fn milliseconds(ms: f64) -> String {
    crate::analysis::Unit::Milliseconds.show(ms)
}

/// A count with its thousands apart.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A mean count: whole where it is.
pub fn count(value: f64) -> String {
    if value.fract().abs() < 0.05 && value.abs() < 1e15 {
        grouped(value.round().max(0.0) as u64)
    } else {
        format!("{value:.1}")
    }
}

/// Plus or minus.
pub fn plus_minus(theme: &Theme) -> &'static str {
    if theme.glyphs.unicode { "±" } else { "+/-" }
}

/// Replaces what a terminal without Unicode cannot show: names of devices and kernels, output of programs.
pub fn keep_to_character_set(area: Rect, buffer: &mut Buffer, theme: &Theme) {
    if theme.glyphs.unicode {
        return;
    }
    let area = area.intersection(buffer.area);
    for position in area.positions() {
        let Some(cell) = buffer.cell_mut(position) else {
            continue;
        };
        if !cell.symbol().is_ascii() {
            let plain = match cell.symbol() {
                "×" => "x",
                "·" => "*",
                "²" => "2",
                "³" => "3",
                "µ" | "μ" => "u",
                "–" | "—" | "−" => "-",
                "“" | "”" => "\"",
                "’" | "‘" => "'",
                "ε" => "e",
                "σ" => "s",
                "Σ" => "S",
                _ => "?",
            };
            cell.set_symbol(plain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::{Glyphs, Palette};

    #[test]
    fn text_is_cut_and_wrapped_by_columns_and_nothing_is_lost() {
        let ascii = Theme::new(Palette::Mono, Glyphs::ASCII);
        assert_eq!(cut("attention", 6, &ascii), "att...");
        assert_eq!(cut("attention", 9, &ascii), "attention");
        assert_eq!(cut("attention", 2, &ascii), "..");
        assert_eq!(
            cut_middle("rmsnorm_forward_f32_wave64", 15, &ascii),
            "rmsnor...wave64"
        );
        // Characters of two columns.
        assert!(width(&cut("学习学习学习", 7, &ascii)) <= 7);
        let text = "the words of a sentence, and averyveryverylongword";
        for most in 1..60 {
            let lines = wrap(text, most);
            assert!(lines.iter().all(|line| width(line) <= most), "{lines:?}");
            let squeeze = |text: &str| text.replace(' ', "");
            assert_eq!(squeeze(&lines.concat()), squeeze(text));
        }
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("学学", 1).concat(), "学学");
    }

    #[test]
    fn numbers_read_like_numbers() {
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(999), "999");
        assert_eq!(count(2803.0), "2 803");
        assert_eq!(count(2803.5), "2803.5");
        assert_eq!(duration(3.21), "3.2 s");
        assert_eq!(duration(61.0), "61 s");
        assert_eq!(duration(135.0), "2 min 15 s");
        assert_eq!(duration(7384.0), "2 h 03 min");
        assert_eq!(duration(f64::NAN), NOT_REPORTED);
    }

    #[test]
    fn a_bar_shows_the_least_share_and_never_overflows() {
        let theme = Theme::new(Palette::Mono, Glyphs::ASCII);
        assert_eq!(bar(0.001, 4, &theme), ("#".into(), "...".into()));
        assert_eq!(bar(0.0, 4, &theme), (String::new(), "....".into()));
        assert_eq!(bar(7.0, 4, &theme), ("####".into(), String::new()));
        assert_eq!(bar(f64::NAN, 4, &theme).0, "");
        assert_eq!(bar(0.5, 0, &theme), (String::new(), String::new()));
    }
}
