//! Sessions, lessons and steps with their state.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::outline_has_keys;
use crate::session::state::Status;
use crate::tui::model::Model;
use crate::tui::model::outline::Row;
use crate::tui::panels::text::cut;
use crate::tutor::say;

/// Columns from which on there is room for levels and for what a lesson requires.
const WIDE: u16 = 60;

pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let rows = model.outline.rows(&model.course, &model.state);
    let lines = rows.iter().map(|row| line(model, row, area.width));
    let lines: Vec<Line> = lines.collect();
    let height = usize::from(area.height);
    // The cursor stays in the middle as long as there is more on both sides.
    let first = model
        .outline
        .cursor
        .saturating_sub(height / 2)
        .min(lines.len().saturating_sub(height));
    for (index, (y, line)) in (area.top()..area.bottom())
        .zip(lines.iter().skip(first))
        .enumerate()
    {
        buffer.set_line(area.x, y, line, area.width);
        if first + index == model.outline.cursor && outline_has_keys(model) {
            let row = Rect::new(area.x, y, area.width, 1);
            buffer.set_style(row, model.theme.selection());
        }
    }
}

fn line(model: &Model, row: &Row, width: u16) -> Line<'static> {
    let theme = &model.theme;
    let glyphs = &theme.glyphs;
    match row {
        Row::Session {
            title,
            minutes,
            finished,
            of,
        } => both_ends(
            model,
            width,
            vec![Span::styled(title.clone(), theme.heading())],
            if width < WIDE {
                format!("{finished}/{of}")
            } else {
                format!("{finished} of {of}, {minutes} min")
            },
        ),
        Row::Lesson {
            title,
            level,
            minutes,
            progress,
            missing,
            ..
        } => {
            let (glyph, style) = match () {
                () if !missing.is_empty() => (glyphs.locked, theme.muted()),
                () if progress.is_finished() => (glyphs.check, theme.good()),
                () if progress.finished > 0 => (glyphs.here, theme.accent()),
                () => (" ", theme.text()),
            };
            // A locked lesson says what it needs where there is room for it.
            let needs = if missing.is_empty() || width < WIDE {
                String::new()
            } else {
                format!("   {}", say::requires(&model.course, missing))
            };
            let steps = if progress.finished > 0 && !progress.is_finished() {
                format!("   {} of {} steps", progress.finished, progress.of)
            } else {
                String::new()
            };
            let is_wide = width >= WIDE;
            let right = if is_wide {
                format!("{}   {}", level.name(), say::minutes(progress, *minutes))
            } else {
                format!("{}/{minutes} min", say::whole(progress.minutes))
            };
            let title_style = if missing.is_empty() {
                theme.text()
            } else {
                theme.muted()
            };
            let mut spans = vec![
                Span::styled(format!("  {glyph} "), style),
                Span::styled(title.clone(), title_style),
            ];
            if is_wide {
                spans.push(Span::styled(format!("{needs}{steps}"), theme.muted()));
            }
            both_ends(model, width, spans, right)
        }
        Row::Step {
            title,
            status,
            is_here,
            ..
        } => {
            let (glyph, style): (&str, Style) = match status {
                Status::Done => (glyphs.check, theme.good()),
                Status::Skipped(_) => (glyphs.skipped, theme.warning()),
                Status::Open if *is_here => (glyphs.here, theme.accent()),
                Status::Open => (glyphs.bullet, theme.muted()),
            };
            let text_style = if *is_here {
                theme.emphasis()
            } else {
                theme.text()
            };
            both_ends(
                model,
                width,
                vec![
                    Span::styled(format!("      {glyph} "), style),
                    Span::styled(title.clone(), text_style),
                ],
                String::new(),
            )
        }
        Row::Planned { title, minutes } => both_ends(
            model,
            width,
            vec![Span::styled(format!("    {title}"), theme.muted())],
            if width < WIDE {
                "coming".into()
            } else {
                format!("coming, {minutes} min")
            },
        ),
    }
}

/// Spans at the left, a text at the right; the left is cut where both do not fit.
fn both_ends(model: &Model, width: u16, left: Vec<Span<'static>>, right: String) -> Line<'static> {
    let width = usize::from(width).saturating_sub(2);
    let gap = usize::from(!right.is_empty()) * 2;
    let room = width.saturating_sub(right.width() + gap);
    let mut used = 0;
    let mut spans = vec![Span::raw(" ")];
    for span in left {
        let text = cut(&span.content, room.saturating_sub(used), &model.theme);
        used += text.width();
        spans.push(Span::styled(text, span.style));
    }
    if !right.is_empty() {
        spans.push(Span::raw(
            " ".repeat(width.saturating_sub(used + right.width())),
        ));
        spans.push(Span::styled(right, model.theme.muted()));
    }
    Line::from(spans)
}
