//! The line above the command bar: a word to the learner, else what goes on in the background.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::recording::play::Speed;
use crate::tui::keys::Action;
use crate::tui::model::outline::Row;
use crate::tui::model::run::{Phase, Played};
use crate::tui::model::{Model, Screen};
use crate::tui::panels::text::cut;
use crate::tutor::say;

pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let (text, style) = line(model);
    let text = cut(
        &text,
        usize::from(area.width).saturating_sub(2),
        &model.theme,
    );
    buffer.set_string(area.x + 1, area.y, text, style);
}

fn line(model: &Model) -> (String, Style) {
    let theme = &model.theme;
    if let Some(notice) = &model.notice {
        let style = if notice.is_trouble {
            theme.warning()
        } else {
            theme.emphasis()
        };
        return (notice.text.clone(), style);
    }
    if model.unsaved > 0 {
        let text = format!(
            "{} events are not on the disk yet: it may be full. They are kept and written with the next one.",
            model.unsaved
        );
        return (text, theme.warning());
    }
    if let Some(needs) = needs(model) {
        return (needs, theme.muted());
    }
    if let Some(run) = model.running() {
        let is_here = model.step.as_ref().is_some_and(|view| view.at == run.at);
        let what = match (&run.phase, &run.played) {
            (Phase::Stopping, _) => "stopping".to_string(),
            (_, Some(played)) => playing(model, played),
            _ => "running".to_string(),
        };
        let place = if is_here {
            String::new()
        } else {
            format!(" for step \"{}\"", run.at.step)
        };
        let queued = match model.queued() {
            0 => String::new(),
            count => format!("; {count} queued"),
        };
        return (
            format!("{} is {what}{place}{queued}", run.target),
            theme.accent(),
        );
    }
    match model.unread_messages() {
        0 => (String::new(), theme.text()),
        count => {
            let key = model.keys.shown(Action::Messages).unwrap_or_default();
            let messages = if count == 1 { "message" } else { "messages" };
            (
                format!("{count} unread {messages}: press {key}"),
                theme.accent(),
            )
        }
    }
}

/// How fast a recording is played, and how to change it.
fn playing(model: &Model, played: &Played) -> String {
    let key = |action: Action| model.keys.shown(action).unwrap_or_default();
    let speed = match played.speed {
        Speed::End => "playing to its end".to_string(),
        speed => format!("playing at {}{speed}", model.theme.glyphs.times),
    };
    let (faster, slower) = (key(Action::Faster), key(Action::Slower));
    format!("{speed} ({faster} faster, {slower} slower)")
}

/// What the lesson under the cursor of the outline needs before it opens.
fn needs(model: &Model) -> Option<String> {
    if model.screen != Screen::Outline {
        return None;
    }
    let rows = model.outline.rows(&model.course, &model.state);
    match rows.get(model.outline.cursor)? {
        Row::Lesson { missing, .. } if !missing.is_empty() => {
            Some(say::requires(&model.course, missing))
        }
        _ => None,
    }
}
