//! The run's text output, the latest line at the bottom.

use ratatui::text::{Line, Span};

use super::journal::{Journal, JournalEntry, Voice};
use crate::tui::{Pane, Theme, cut, labelled};

/// Columns of the source's name.
const VOICE: usize = 7;

/// Draws the journal up to the entry `back` entries before its last.
pub fn draw(journal: &Journal, back: usize, mut pane: Pane) {
    if journal.entries.is_empty() {
        let text = "The log is empty: no notes, and no output except the events.";
        let style = pane.theme.muted();
        return pane.put([Line::styled(text, style)]);
    }
    let (theme, room) = (pane.theme, usize::from(pane.area.height));
    let back = back.min(journal.entries.len() - 1);
    let entries = journal.entries.iter().rev().skip(back);
    let lines = entries.flat_map(|entry| {
        let lines = entry_lines(entry, pane.area.width, theme);
        lines.into_iter().rev()
    });
    let mut lines: Vec<Line> = lines.take(room).collect();
    lines.reverse();
    if back > 0 && room > 1 && lines.len() == room {
        let text = format!("{} {back} more below", theme.glyphs.more_below);
        lines.pop();
        lines.push(Line::styled(text, theme.muted()));
    }
    pane.put(lines);
}

/// The entry's lines, with its source in a left column.
pub fn entry_lines(entry: &JournalEntry, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let style = match entry.voice {
        Voice::Note => theme.emphasis(),
        Voice::Sample => theme.code(),
        Voice::Output | Voice::Stderr => theme.text(),
    };
    // Several blanks in a row mark a table, which must keep its columns and is not wrapped.
    if entry.text.trim_start().contains("  ") {
        let room = usize::from(wide).saturating_sub(VOICE);
        let label = Span::styled(format!("{:<VOICE$}", entry.voice.name()), theme.muted());
        let text = cut(&entry.text, room, theme);
        return vec![Line::from(vec![label, Span::styled(text, style)])];
    }
    let text = Span::styled(entry.text.clone(), style);
    labelled(entry.voice.name(), VOICE, text, wide, theme)
}
