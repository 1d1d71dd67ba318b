//! Moving through the course.

use crossterm::event::KeyCode;

use super::{note_time, scroll};
use crate::lesson::StepKind;
use crate::lesson::course::Course;
use crate::lesson::quiz::Quiz;
use crate::session::event::StepRef;
use crate::session::progress::{Access, access, next as next_unfinished, progress};
use crate::tui::keys::Key;
use crate::tui::message::{Effect, Request};
use crate::tui::model::outline::Row;
use crate::tui::model::step::StepView;
use crate::tui::model::{Model, Screen};
use crate::tutor::say;

/// Opens where the learner was; a first visit begins at the outline.
pub fn resume(model: &mut Model) -> Vec<Effect> {
    let Some(at) = model.state.position.clone() else {
        return Vec::new();
    };
    if model.course.step(&at.lesson, &at.step).is_none() {
        model.tell("The step you were at is no longer part of this course.");
        return Vec::new();
    }
    open(model, at)
}

/// To where there is something to do: the step that is open, the last position, or the first unfinished step.
pub fn proceed(model: &mut Model) -> Vec<Effect> {
    if model.step.is_some() {
        model.screen = Screen::Step;
        return Vec::new();
    }
    let next = next_unfinished(&model.course, &model.state)
        .map(|(lesson, step)| StepRef::new(&lesson.id, &step.id));
    match next {
        Some(at) => open(model, at),
        None => {
            model.tell("Everything that is open is done.");
            Vec::new()
        }
    }
}

pub fn outline(model: &mut Model) -> Vec<Effect> {
    model.overlay = None;
    if model.screen == Screen::Outline && model.step.is_some() {
        model.screen = Screen::Step;
        return Vec::new();
    }
    model.screen = Screen::Outline;
    if let Some(view) = &model.step {
        let lesson = view.at.lesson.clone();
        model.outline.select(&model.course, &lesson);
    }
    Vec::new()
}

pub fn cursor(model: &mut Model, by: isize) -> Vec<Effect> {
    let rows = model.outline.rows(&model.course, &model.state);
    let last = rows.len().saturating_sub(1);
    model.outline.cursor = model.outline.cursor.saturating_add_signed(by).min(last);
    Vec::new()
}

/// Opens what the cursor of the outline is on.
pub fn open_row(model: &mut Model) -> Vec<Effect> {
    let rows = model.outline.rows(&model.course, &model.state);
    match rows.into_iter().nth(model.outline.cursor) {
        Some(Row::Step { at, .. }) => open(model, at),
        Some(Row::Lesson { id, .. }) if model.outline.open.as_deref() != Some(id.as_str()) => {
            model.outline.select(&model.course, &id);
            Vec::new()
        }
        Some(Row::Lesson { id, .. }) => open_lesson(model, &id),
        Some(Row::Planned { .. }) => {
            model.tell("This lesson is announced; it is not part of the course yet.");
            Vec::new()
        }
        // A session opens at its first lesson, which stands below it.
        Some(Row::Session { .. }) => {
            match row_below(model) {
                Some(Row::Lesson { id, .. }) => model.outline.select(&model.course, &id),
                _ => drop(cursor(model, 1)),
            }
            Vec::new()
        }
        None => Vec::new(),
    }
}

/// The row below the cursor of the outline.
fn row_below(model: &Model) -> Option<Row> {
    let rows = model.outline.rows(&model.course, &model.state);
    rows.into_iter().nth(model.outline.cursor + 1)
}

/// Opens a lesson at its first unfinished step.
pub fn open_lesson(model: &mut Model, id: &str) -> Vec<Effect> {
    let Some(lesson) = model.course.lesson(id) else {
        return Vec::new();
    };
    let unfinished = lesson.steps.iter().find(|step| {
        model
            .state
            .step(id, &step.id)
            .is_none_or(|progress| progress.status == crate::session::state::Status::Open)
    });
    match unfinished.or(lesson.steps.first()) {
        Some(step) => {
            let at = StepRef::new(id, &step.id);
            open(model, at)
        }
        None => Vec::new(),
    }
}

/// Turns to a step, if its lesson is open.
pub fn open(model: &mut Model, at: StepRef) -> Vec<Effect> {
    let course = std::sync::Arc::clone(&model.course);
    let (Some(lesson), Some(step)) = (course.lesson(&at.lesson), course.step(&at.lesson, &at.step))
    else {
        return Vec::new();
    };
    if let Access::Locked(missing) = access(&course, &model.state, lesson) {
        let needs = say::requires(&course, &missing);
        model.warn(format!("\"{}\" {needs}.", lesson.title));
        return Vec::new();
    }
    let mut effects: Vec<Effect> = note_time(model).into_iter().collect();
    model.outline.open = Some(lesson.id.clone());
    place_cursor(model, &course, &at);
    let is_running = model.run_at(&at).is_some_and(|run| run.phase.is_alive());
    let mut view = StepView::new(at.clone());
    view.panel_open = is_running;
    model.step = Some(view);
    model.screen = Screen::Step;
    effects.push(Effect::Session(Request::Enter(at.clone())));
    if let StepKind::Profile {
        tool,
        target,
        flags,
    } = &step.kind
    {
        effects.push(Effect::PrepareProfile {
            at,
            tool: *tool,
            target: target.clone(),
            flags: flags.clone(),
        });
    }
    effects
}

fn place_cursor(model: &mut Model, course: &Course, at: &StepRef) {
    let rows = model.outline.rows(course, &model.state);
    let found = rows
        .iter()
        .position(|row| matches!(row, Row::Step { at: row, .. } if row == at));
    if let Some(index) = found {
        model.outline.cursor = index;
    }
}

pub fn next(model: &mut Model) -> Vec<Effect> {
    let Some((lesson, step, _)) = model.current() else {
        return Vec::new();
    };
    let lesson_id = lesson.id.clone();
    let position = lesson.steps.iter().position(|other| other.id == step.id);
    let following = position.and_then(|index| lesson.steps.get(index + 1));
    if let Some(step) = following {
        let at = StepRef::new(&lesson_id, &step.id);
        return open(model, at);
    }
    end_of_lesson(model, &lesson_id)
}

fn end_of_lesson(model: &mut Model, id: &str) -> Vec<Effect> {
    let course = std::sync::Arc::clone(&model.course);
    let Some(lesson) = course.lesson(id) else {
        return Vec::new();
    };
    let done = progress(&model.state, lesson);
    if !done.is_finished() {
        let left = done.of - done.finished;
        let unfinished = open_lesson(model, id);
        let steps = if left == 1 { "step is" } else { "steps are" };
        model.tell(format!(
            "End of the lesson, and {left} {steps} left open: this is the first."
        ));
        return unfinished;
    }
    let mut lessons = course
        .lessons()
        .skip_while(|lesson| lesson.id != id)
        .skip(1);
    match lessons.find(|lesson| access(&course, &model.state, lesson) == Access::Open) {
        Some(following) => {
            let effects = open_lesson(model, &following.id);
            model.tell(format!(
                "\"{}\" is finished. Next: {}.",
                lesson.title, following.title
            ));
            effects
        }
        None => {
            model.screen = Screen::Outline;
            model.tell(format!(
                "\"{}\" is finished, and with it all there is for now.",
                lesson.title
            ));
            Vec::new()
        }
    }
}

pub fn previous(model: &mut Model) -> Vec<Effect> {
    let Some((lesson, step, _)) = model.current() else {
        return Vec::new();
    };
    let position = lesson.steps.iter().position(|other| other.id == step.id);
    let before = position
        .and_then(|index| index.checked_sub(1))
        .and_then(|index| lesson.steps.get(index));
    match before {
        Some(step) => {
            let at = StepRef::new(&lesson.id, &step.id);
            open(model, at)
        }
        None => {
            model.tell("This is the lesson's first step.");
            Vec::new()
        }
    }
}

/// One line down or up: the next choice of a quiz that is open, else the text.
pub fn line(model: &mut Model, by: isize) -> Vec<Effect> {
    let Some(choices) = open_choices(model) else {
        return scroll::lines(model, by);
    };
    let Some(view) = &mut model.step else {
        return Vec::new();
    };
    let moved = view.choice.saturating_add_signed(by);
    if moved >= choices || (by < 0 && view.choice == 0) {
        return scroll::lines(model, by);
    }
    view.choice = moved;
    scroll::to_choice(model);
    Vec::new()
}

/// A digit goes to a choice.
pub fn choice_by_number(model: &mut Model, key: Key) -> Option<Vec<Effect>> {
    let KeyCode::Char(c) = key.code else {
        return None;
    };
    let digit = usize::try_from(c.to_digit(10)?).ok()?;
    let index = digit.checked_sub(1)?;
    if index >= open_choices(model)? {
        return None;
    }
    model.step.as_mut()?.choice = index;
    scroll::to_choice(model);
    Some(Vec::new())
}

/// How many choices can be chosen from.
fn open_choices(model: &Model) -> Option<usize> {
    if model.screen != Screen::Step {
        return None;
    }
    let (_, step, view) = model.current()?;
    match &step.kind {
        StepKind::Quiz(Quiz::Choices(choices)) if !view.panel_open => Some(choices.len()),
        _ => None,
    }
}
