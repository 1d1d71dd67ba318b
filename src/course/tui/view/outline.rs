//! Draws sessions, lessons and steps with their state.

use ratatui::text::{Line, Span};

use crate::session::StepStatus;
use crate::tui::{FocusedScreen, Model, OutlineRow, Pane, both_ends};
use crate::tutor::say;

/// From this width on, levels and the requirements of a lesson have room.
const WIDE: u16 = 60;

pub fn draw(model: &Model, mut pane: Pane) {
    let cursor = &model.outline.cursor;
    // An empty row keeps a heading from looking like a part of the bar above.
    let mut above = pane.take(1);
    if !cursor.filter.is_empty() {
        above.remark(&format!(" with \"{}\"; esc shows all", cursor.filter));
    }
    let rows = model.outline.rows(&model.course, &model.state);
    if rows.is_empty() {
        return pane.remark(" No lesson and no step has this text in its title.");
    }
    let room = usize::from(pane.area.height);
    let first = cursor.first_shown(rows.len(), room);
    for (index, row) in rows.iter().enumerate().skip(first).take(room) {
        let mut pane = pane.take(1);
        let (area, mut line) = (pane.area, line(model, row, pane.area.width));
        let is_selected = index == cursor.row && model.screen == FocusedScreen::Outline;
        if is_selected {
            // The whole row gets one style, because colours within a reversed row would look like patches.
            line.spans
                .iter_mut()
                .for_each(|span| span.style = model.theme.selection());
        }
        pane.put([line]);
        if is_selected {
            pane.buffer.set_style(area, model.theme.selection());
        }
    }
}

fn line(model: &Model, row: &OutlineRow, width: u16) -> Line<'static> {
    let theme = &model.theme;
    let glyphs = &theme.glyphs;
    let is_wide = width >= WIDE;
    let (mut left, right) = match row {
        OutlineRow::Session {
            session,
            finished,
            of,
            minutes,
        } => {
            let right = match is_wide {
                true => format!("{finished} of {of}, {minutes} min"),
                false => format!("{finished}/{of}"),
            };
            let title = Span::styled(session.title.clone(), theme.heading());
            (vec![title], right)
        }
        OutlineRow::Lesson {
            lesson,
            progress,
            missing,
            is_on_path,
        } => {
            let minutes = lesson.minutes;
            let is_locked = !missing.is_empty();
            let (glyph, style) = match () {
                () if is_locked && *is_on_path => (glyphs.locked, theme.muted()),
                () if progress.is_finished() => (glyphs.check, theme.good()),
                () if progress.finished > 0 => (glyphs.here, theme.accent()),
                () => (" ", theme.text()),
            };
            let title_style = if is_locked || !is_on_path {
                theme.muted()
            } else {
                theme.text()
            };
            let is_pinned = model.state.pinned.as_ref() == Some(&lesson.id);
            let pin = if is_pinned { glyphs.arrow } else { "" };
            let mut spans = vec![
                Span::styled(format!("{pin:<2}"), theme.accent()),
                Span::styled(format!("{glyph} "), style),
                Span::styled(lesson.title.clone(), title_style),
            ];
            if is_wide && is_pinned {
                spans.push(Span::styled("   your class is here", theme.accent()));
            }
            if is_wide && is_locked && *is_on_path {
                let needs = say::requires(&model.course, missing);
                spans.push(Span::styled(format!("   {needs}"), theme.muted()));
            }
            if is_wide && progress.finished > 0 && !progress.is_finished() {
                let steps = format!("   {} of {} steps", progress.finished, progress.count);
                spans.push(Span::styled(steps, theme.muted()));
            }
            let right = match is_wide {
                _ if !is_on_path && is_wide => "not on your path".into(),
                _ if !is_on_path => "-".into(),
                true => format!(
                    "{}   {}",
                    lesson.level.name(),
                    say::minutes(progress, minutes)
                ),
                false if is_locked => "later".into(),
                false => format!("{}/{minutes} min", say::whole_minutes(progress.minutes)),
            };
            (spans, right)
        }
        OutlineRow::Step {
            title,
            status,
            is_here,
            at,
        } => {
            let (glyph, style) = match status {
                StepStatus::Done => (glyphs.check, theme.good()),
                StepStatus::Skipped(_) => (glyphs.skipped, theme.warning()),
                StepStatus::Open if *is_here => (glyphs.here, theme.accent()),
                StepStatus::Open => (glyphs.bullet, theme.muted()),
            };
            let text_style = if *is_here {
                theme.emphasis()
            } else {
                theme.text()
            };
            let mark = Span::styled(format!("      {glyph} "), style);
            let title = Span::styled(title.to_string(), text_style);
            let lesson = model.course.lesson(&at.lesson);
            let lesson = lesson.filter(|_| !model.outline.cursor.filter.is_empty());
            let lesson = lesson.map_or(String::new(), |lesson| lesson.title.clone());
            (vec![mark, title], lesson)
        }
        OutlineRow::Planned(planned) => {
            let right = match is_wide {
                true => format!("coming, {} min", planned.minutes),
                false => "coming".into(),
            };
            let title = Span::styled(format!("    {}", planned.title), theme.muted());
            (vec![title], right)
        }
    };
    left.insert(0, Span::raw(" "));
    let mut right = Span::styled(right, theme.muted());
    let title: usize = left.iter().map(Span::width).sum();
    if title + right.width() + 2 >= usize::from(width) {
        // The title is more important than the text on the right.
        right = Span::raw("");
    }
    both_ends(left, right, 2, width.saturating_sub(1), theme)
}
