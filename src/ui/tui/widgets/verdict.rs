//! A check's verdict in a line.

use ratatui::text::Span;

use crate::tui::Theme;
use tinyllama_lesson::Verdict;
use tinyllama_session::CheckResultText;

/// A check's verdict as glyph, word and colour, and the check's name.
pub fn verdict(outcome: &CheckResultText, theme: &Theme) -> Vec<Span<'static>> {
    let (glyph, style) = match outcome.verdict {
        Verdict::Passed => (theme.glyphs.check, theme.good()),
        Verdict::NotYet if outcome.required => (theme.glyphs.cross, theme.bad()),
        Verdict::NotYet => (theme.glyphs.skipped, theme.warning()),
        Verdict::Inconclusive | Verdict::NotEvaluated => (theme.glyphs.undecided, theme.warning()),
    };
    vec![
        Span::styled(format!("{glyph} {}", outcome.text()), style),
        Span::styled(format!("  {}", outcome.name()), theme.muted()),
    ]
}
