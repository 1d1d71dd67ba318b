//! The run's words, the latest at the bottom.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::journal::{Entry, Journal, Voice};
use crate::tui::panels::text::{put, wrap};
use crate::tui::theme::Theme;

/// Columns of the name of who speaks.
const VOICE: usize = 7;

/// The end of the journal, `back` entries before its last.
pub fn render(journal: &Journal, back: usize, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    if journal.len() == 0 {
        let text = "Nothing has been said: no notes, no output beside the events.";
        put([Line::styled(text, theme.muted())], area, buffer);
        return;
    }
    let wide = usize::from(area.width).saturating_sub(VOICE).max(8);
    let mut lines: Vec<Line> = Vec::new();
    let room = usize::from(area.height);
    let back = back.min(journal.len() - 1);
    for entry in journal.entries().rev().skip(back) {
        if lines.len() >= room {
            break;
        }
        lines.extend(entry_lines(entry, wide, theme).into_iter().rev());
    }
    lines.truncate(room);
    lines.reverse();
    if back > 0 && room > 1 && lines.len() == room {
        let text = format!("{} {back} more below", theme.glyphs.more_below);
        lines.pop();
        lines.push(Line::styled(text, theme.muted()));
    }
    put(lines, area, buffer);
}

/// The entry's lines, at most `wide` columns beside the voice.
pub fn entry_lines(entry: &Entry, wide: usize, theme: &Theme) -> Vec<Line<'static>> {
    let style = style(entry.voice, theme);
    let texts = wrap(&entry.text, wide).into_iter().enumerate();
    texts
        .map(|(at, text)| {
            let voice = if at == 0 { entry.voice.name() } else { "" };
            Line::from(vec![
                Span::styled(format!("{voice:<VOICE$}"), theme.muted()),
                Span::styled(text, style),
            ])
        })
        .collect()
}

fn style(voice: Voice, theme: &Theme) -> Style {
    match voice {
        Voice::Note => theme.emphasis(),
        Voice::Sample => theme.code(),
        Voice::Output | Voice::Stderr => theme.text(),
    }
}
