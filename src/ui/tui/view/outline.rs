//! Draws sessions, lessons and steps with their state.

use ratatui::text::{Line, Span};

use crate::tui::{FocusedScreen, Model, OutlineRow, Pane, both_ends, first_shown, hanging};
use tinyllama_lesson::Lesson;
use tinyllama_session::{LessonProgress, StepStatus};
use tinyllama_tutor_core::say;

/// From this width on, levels and the requirements of a lesson have room.
const WIDE: u16 = 60;

pub fn draw(model: &Model, mut pane: Pane) {
    let cursor = &model.outline.cursor;
    // An empty row keeps a heading from looking like a part of the bar above.
    let mut above = pane.take(1);
    if !cursor.filter.is_empty() {
        let text = format!(" with \"{}\"; esc shows all", cursor.filter);
        above.put([Line::styled(text, model.theme.muted())]);
    }
    let rows = model.outline.rows(&model.course, &model.state);
    if rows.is_empty() {
        return pane.remark(" No lesson and no step has this text in its title.");
    }
    let rows: Vec<_> = rows
        .iter()
        .map(|row| lines(model, row, pane.area.width))
        .collect();
    let heights: Vec<usize> = rows.iter().map(Vec::len).collect();
    let first = first_shown(cursor.row, &heights, pane.area.height.into());
    for (index, mut lines) in rows.into_iter().enumerate().skip(first) {
        let mut pane = pane.take(u16::try_from(lines.len()).unwrap_or(1));
        let area = pane.area;
        let is_selected = index == cursor.row && model.screen == FocusedScreen::Outline;
        if is_selected {
            // The whole row gets one style, because colours within a reversed row would look like patches.
            lines
                .iter_mut()
                .flat_map(|line| &mut line.spans)
                .for_each(|span| span.style = model.theme.selection());
        }
        pane.put(lines);
        if is_selected {
            pane.buffer.set_style(area, model.theme.selection());
        }
    }
}

/// What a row says, from left to right.
struct RowText {
    /// Marks before the title.
    lead: Vec<Span<'static>>,
    title: Span<'static>,
    /// Each is left out if there is no room for all of it.
    remarks: Vec<Span<'static>>,
    right: String,
    /// Replaces the text at the right end if a remark is left out.
    without_remark: Option<&'static str>,
    /// The text at the right end tells rows with the same title apart, so it gets a line if it needs one.
    is_right_needed: bool,
}

impl RowText {
    fn new(title: Span<'static>, right: String) -> Self {
        RowText {
            lead: Vec::new(),
            title,
            remarks: Vec::new(),
            right,
            without_remark: None,
            is_right_needed: false,
        }
    }
}

/// A title that is longer than its line goes on in the next one, because its end may tell it from another.
fn lines(model: &Model, row: &OutlineRow, width: u16) -> Vec<Line<'static>> {
    let theme = &model.theme;
    let text = text(model, row, width >= WIDE);
    let mut lead = vec![Span::raw(" ")];
    lead.extend(text.lead);
    let indent = Span::raw(" ".repeat(lead.iter().map(Span::width).sum()));
    let room = usize::from(width.saturating_sub(1));
    let mut lines = hanging(lead, indent.clone(), vec![text.title], room);
    let mut last = lines.pop().unwrap_or_default();
    let mut right = text.right;
    for remark in text.remarks {
        if last.width() + remark.width() <= room {
            last.push_span(remark);
        } else if let Some(instead) = text.without_remark {
            right = instead.into();
        }
    }
    let mut right = Span::styled(right, theme.muted());
    let mut below = Vec::new();
    if last.width() + 2 + right.width() > room {
        // The title is more important than the text on the right.
        let left_out = std::mem::replace(&mut right, Span::raw(""));
        if text.is_right_needed && left_out.width() > 0 {
            below = hanging(vec![indent.clone()], indent, vec![left_out], room);
        }
    }
    lines.push(both_ends(
        last.spans,
        right,
        2,
        width.saturating_sub(1),
        theme,
    ));
    lines.extend(below);
    lines
}

fn text(model: &Model, row: &OutlineRow, is_wide: bool) -> RowText {
    let theme = &model.theme;
    let glyphs = &theme.glyphs;
    match row {
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
            RowText::new(Span::styled(session.title.clone(), theme.heading()), right)
        }
        OutlineRow::Lesson {
            lesson,
            progress,
            missing,
            is_on_path,
        } => lesson_text(model, (lesson, progress), missing, *is_on_path, is_wide),
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
            let lesson = model.course.lesson(&at.lesson);
            let lesson = lesson.filter(|_| !model.outline.cursor.filter.is_empty());
            let lesson = lesson.map_or(String::new(), |lesson| lesson.title.clone());
            RowText {
                lead: vec![Span::styled(format!("      {glyph} "), style)],
                is_right_needed: true,
                ..RowText::new(Span::styled(title.to_string(), text_style), lesson)
            }
        }
        OutlineRow::Planned(planned) => {
            let right = match is_wide {
                true => format!("coming, {} min", planned.minutes),
                false => "coming".into(),
            };
            RowText {
                lead: vec![Span::raw("    ")],
                ..RowText::new(Span::styled(planned.title.clone(), theme.muted()), right)
            }
        }
    }
}

fn lesson_text(
    model: &Model,
    (lesson, progress): (&Lesson, &LessonProgress),
    missing: &[String],
    is_on_path: bool,
    is_wide: bool,
) -> RowText {
    let theme = &model.theme;
    let glyphs = &theme.glyphs;
    let state = &model.state;
    let is_locked = !missing.is_empty();
    let (glyph, style) = match () {
        () if is_locked && is_on_path => (glyphs.locked, theme.muted()),
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
    let mut remarks = Vec::new();
    if is_wide && is_pinned {
        remarks.push(Span::styled("   your class is here", theme.accent()));
    }
    if is_wide && is_locked && is_on_path {
        let needs = say::requires(&model.course, missing);
        remarks.push(Span::styled(format!("   {needs}"), theme.muted()));
    }
    if is_wide && progress.finished > 0 && !progress.is_finished() {
        let steps = format!("   {} of {} steps", progress.finished, progress.count);
        remarks.push(Span::styled(steps, theme.muted()));
    }
    let right = match is_wide {
        _ if !is_on_path && is_wide => "not on your path".into(),
        _ if !is_on_path => "-".into(),
        true => format!(
            "{}   {}",
            lesson.level.name(),
            say::minutes(progress, lesson, state)
        ),
        false if is_locked => "later".into(),
        false => format!(
            "{}/{} min",
            say::whole_minutes(progress.minutes),
            say::planned_minutes(lesson, state)
        ),
    };
    RowText {
        lead: vec![
            Span::styled(format!("{pin:<2}"), theme.accent()),
            Span::styled(format!("{glyph} "), style),
        ],
        remarks,
        without_remark: (is_locked && is_on_path).then_some("later"),
        ..RowText::new(Span::styled(lesson.title.clone(), title_style), right)
    }
}
