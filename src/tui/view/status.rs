//! The line above the command bar: a word to the learner, else what goes on in the background.

use ratatui::style::Style;

use crate::run::play::Speed;
use crate::tui::keys::{Action, Area};
use crate::tui::model::outline::Row;
use crate::tui::model::run::{Phase, Played, Run};
use crate::tui::model::{Model, Screen};
use crate::tui::pane::Pane;
use crate::tui::panels::messages;
use crate::tui::panels::text::cut;
use crate::tutor::say;

pub fn draw(model: &Model, pane: Pane) {
    let (text, style) = line(model);
    let text = cut(&text, pane.width().saturating_sub(2), &model.theme);
    pane.buffer
        .set_string(pane.area.x + 1, pane.area.y, text, style);
}

fn line(model: &Model) -> (String, Style) {
    let theme = &model.theme;
    if let Some(notice) = &model.notice {
        let style = match notice.is_trouble {
            true => theme.warning(),
            false => theme.emphasis(),
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
        return (running(model, run), theme.accent());
    }
    let messages = match model.unread_messages() {
        0 => return (String::new(), theme.text()),
        1 => "1 unread message".to_string(),
        count => format!("{count} unread messages"),
    };
    let key = model.keys.shown(Area::Everywhere, messages::ACTION);
    (format!("{messages}: press {key}"), theme.accent())
}

fn running(model: &Model, run: &Run) -> String {
    let what = match (&run.phase, &run.played) {
        (Phase::Stopping, _) => "stopping".to_string(),
        (_, Some(played)) => playing(model, played),
        _ => "running".to_string(),
    };
    let is_here = model.step.as_ref().is_some_and(|view| view.at == run.at);
    let place = match is_here {
        true => String::new(),
        false => format!(" for step \"{}\"", run.at.step),
    };
    let queued = match model.queued() {
        0 => String::new(),
        count => format!("; {count} queued"),
    };
    format!("{} is {what}{place}{queued}", run.target)
}

/// How fast a recording is played, and how to change it.
fn playing(model: &Model, played: &Played) -> String {
    let [faster, slower] =
        [Action::Faster, Action::Slower].map(|action| model.keys.shown(Area::Step, action));
    let speed = match played.speed {
        Speed::End => "playing to its end".to_string(),
        speed => format!("playing at {}{speed}", model.theme.glyphs.times),
    };
    format!("{speed} ({faster} faster, {slower} slower)")
}

/// What the lesson under the cursor of the outline needs before it opens.
fn needs(model: &Model) -> Option<String> {
    if model.screen != Screen::Outline {
        return None;
    }
    let rows = model.outline.rows(&model.course, &model.state);
    match rows.get(model.outline.cursor.row)? {
        Row::Lesson { missing, .. } if !missing.is_empty() => {
            Some(say::requires(&model.course, missing))
        }
        _ => None,
    }
}
