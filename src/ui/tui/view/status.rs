//! The line above the command bar: a notice to the learner, else the work in the background.

use ratatui::prelude::{Line, Style};

use crate::tui::panels::messages;
use crate::tui::{
    Area, FocusedScreen, Model, OutlineRow, Pane, PlayedRecording, RunPhase, TutorRun, paragraph,
};
use tinyllama_base::plural;
use tinyllama_runs::Speed;
use tinyllama_tutor_core::Action;
use tinyllama_tutor_core::say;

/// Lines that a notice may take. A remedy is useless without its end.
const MAX_LINES: usize = 4;

/// Columns at the right end for the number of lines above and below.
const END: u16 = 14;

pub fn draw(model: &Model, mut pane: Pane) {
    let lines = lines(model, pane.area.width);
    pane.area.x += 1;
    pane.put(lines);
}

/// Lines that the status needs; at least one.
pub fn height(model: &Model, width: u16) -> u16 {
    u16::try_from(lines(model, width).len()).unwrap_or(1).max(1)
}

fn lines(model: &Model, width: u16) -> Vec<Line<'static>> {
    let (text, style) = line(model);
    let mut lines = paragraph(&text, width.saturating_sub(END), style);
    lines.truncate(MAX_LINES);
    lines
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
            "{} NOT SAVED: disk full or folder gone; tried again with your next step.",
            plural(model.unsaved, "event")
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
        count => plural(count, "unread message"),
    };
    let key = model.keys.shown(Area::Everywhere, messages::ACTION);
    (format!("{messages}: press {key}"), theme.accent())
}

fn running(model: &Model, run: &TutorRun) -> String {
    let what = match (&run.phase, &run.played) {
        (RunPhase::Stopping, _) => "stopping".to_string(),
        (_, Some(played)) => playing(model, played),
        _ => "running".to_string(),
    };
    let is_here = model.step.as_ref().is_some_and(|view| view.at == run.at);
    let place = match is_here {
        true => String::new(),
        false => {
            let step = model.course.step(&run.at.lesson, &run.at.step);
            let title = step.map_or(&run.at.step, |step| &step.title);
            format!(" for step \"{title}\"")
        }
    };
    let queued = match model.queued() {
        0 => String::new(),
        count => format!("; {count} queued"),
    };
    let said = run
        .said
        .as_ref()
        .map_or(String::new(), |said| format!(": {said}"));
    format!("{} is {what}{place}{queued}{said}", run.job.name())
}

/// The speed of the playing recording, and the keys that change it.
fn playing(model: &Model, played: &PlayedRecording) -> String {
    let [faster, slower] =
        [Action::Faster, Action::Slower].map(|action| model.keys.shown(Area::Step, action));
    let speed = match played.speed {
        Speed::END => "playing to its end".to_string(),
        speed => format!("playing at {}{speed}", model.theme.glyphs.times),
    };
    format!("{speed} ({faster} faster, {slower} slower)")
}

/// The lessons that have to be finished before the lesson under the cursor opens, or whether the class works on it.
fn needs(model: &Model) -> Option<String> {
    if model.screen != FocusedScreen::Outline {
        return None;
    }
    let rows = model.outline.rows(&model.course, &model.state);
    match rows.get(model.outline.cursor.row)? {
        OutlineRow::Lesson { missing, .. } if !missing.is_empty() => {
            Some(say::requires(&model.course, missing))
        }
        OutlineRow::Lesson { lesson, .. } if model.state.pinned.as_ref() == Some(&lesson.id) => {
            Some("Your instructor asks the class to work on this lesson now.".into())
        }
        _ => None,
    }
}
