//! Moves through the course.

use std::sync::Arc;

use crossterm::event::KeyCode;

use super::primary::{Primary, primary};
use super::request::note_time;
use super::{profiler, recall, runs, scroll};
use crate::tui::panels::lesson_end;
use crate::tui::view::document;
use crate::tui::{
    Area, Effect, Effects, FocusedScreen, Key, Model, OpenStep, OutlineRow, Reveal, SessionRequest,
    StepView, TutorRun, both_effects, text_area,
};
use tinyllama_lesson::Job;
use tinyllama_lesson::Lesson;
use tinyllama_session::progress::progress;
use tinyllama_session::recall::is_due;
use tinyllama_session::{
    Access, StepRef, StepStatus, access, following, neighbour, next as next_unfinished, unfinished,
};
use tinyllama_tutor_core::say;
use tinyllama_tutor_core::{Action, PanelAction};

/// Opens the learner's last position; a first visit begins at the outline.
pub fn resume(model: &mut Model) -> Effects {
    let at = model.state.position.clone()?;
    match model.course.step(&at.lesson, &at.step) {
        Some(_) => open(model, at),
        None => model.notify("The step you were at is no longer part of this course."),
    }
}

/// Goes to the open step, or opens the next unfinished one.
pub fn proceed(model: &mut Model) -> Effects {
    if !std::mem::take(&mut model.outline.cursor.filter).is_empty() {
        return None;
    }
    if model.step.is_some() {
        model.screen = FocusedScreen::Step;
        return None;
    }
    match next_unfinished(&model.course, &model.state) {
        Some(at) => open(model, at),
        None => model.notify("Everything that is open is done."),
    }
}

/// Goes to the outline, and from there back to the step.
pub fn outline(model: &mut Model) -> Effects {
    model.clear_overlays();
    if model.screen == FocusedScreen::Outline && model.step.is_some() {
        model.screen = FocusedScreen::Step;
        return None;
    }
    model.screen = FocusedScreen::Outline;
    if let Some(view) = &model.step {
        model.outline.select(&model.course, &view.at.lesson);
    }
    None
}

pub fn through_outline(model: &mut Model, action: PanelAction) -> Effects {
    let rows = model.outline.rows(&model.course, &model.state).len();
    model.outline.cursor.act(action, rows, 0);
    None
}

/// Opens the row under the cursor of the outline.
pub fn open_row(model: &mut Model) -> Effects {
    let course = Arc::clone(&model.course);
    let rows = model.outline.rows(&course, &model.state);
    let mut rows = rows.into_iter().skip(model.outline.cursor.row);
    match (rows.next(), rows.next()) {
        (Some(OutlineRow::Step { at, .. }), _) => open(model, at),
        (Some(OutlineRow::Lesson { lesson, .. }), _)
            if model.outline.open.as_ref() == Some(&lesson.id) =>
        {
            open_lesson(model, &lesson.id)
        }
        // A session opens at its first lesson, which is the row below it.
        (Some(OutlineRow::Lesson { lesson, .. }), _)
        | (Some(OutlineRow::Session { .. }), Some(OutlineRow::Lesson { lesson, .. })) => {
            model.outline.select(&course, &lesson.id);
            None
        }
        (Some(OutlineRow::Session { .. }), _) => through_outline(model, PanelAction::Down),
        (Some(OutlineRow::Planned(_)), _) => {
            model.notify("This lesson is planned; it is not part of the course yet.")
        }
        (None, _) => None,
    }
}

/// Opens a lesson at its first unfinished step.
pub fn open_lesson(model: &mut Model, id: &str) -> Effects {
    let lesson = model.course.lesson(id)?;
    let first = lesson.steps.first().map(|step| StepRef::new(id, &step.id));
    open(model, unfinished(&model.state, lesson).or(first)?)
}

/// Opens the lesson on which an instructor asks the class to work.
pub fn class_lesson(model: &mut Model) -> Effects {
    match model.state.pinned.clone() {
        Some(id) => open_lesson(model, &id),
        None => model.notify("No instructor asks the class to work on a lesson."),
    }
}

/// Opens a step, if its lesson is open. Before the first step of a session come earlier questions.
pub fn open(model: &mut Model, at: StepRef) -> Effects {
    let course = Arc::clone(&model.course);
    let (lesson, _) = course.find_step(&at)?;
    let tried = model.tried_lesson.take();
    if let Access::Locked(missing) = access(&course, &model.state, lesson) {
        if tried.as_ref() == Some(&lesson.id) {
            let opens = Effect::Session(SessionRequest::OpenEarly(lesson.id.clone()));
            return both_effects(Some(vec![opens]), open_now(model, at));
        }
        model.tried_lesson = Some(lesson.id.clone());
        // The key opens the row under the cursor, so that row has to be of this lesson.
        let row = model.outline.cursor.row;
        let rows = model.outline.rows(&course, &model.state);
        let is_shown = model.screen == FocusedScreen::Outline;
        if !is_shown || rows.get(row).and_then(OutlineRow::lesson) != Some(lesson.id.as_str()) {
            model.outline.select(&course, &lesson.id);
            model.screen = FocusedScreen::Outline;
            model.clear_overlays();
        }
        let key = model.keys.shown(Area::Outline, Action::Open);
        let again = format!("Pressing {key} again");
        return model.warn(say::locked(&course, lesson, &missing, &again));
    }
    let asks = is_due(&course, &model.state, Some(&at));
    let asked = asks.then(|| recall::ask(model, Some(at.clone())));
    asked.flatten().or_else(|| open_now(model, at))
}

/// Opens a step at once.
pub fn open_now(model: &mut Model, at: StepRef) -> Effects {
    let course = Arc::clone(&model.course);
    let (lesson, step) = course.find_step(&at)?;
    let mut effects: Vec<Effect> = note_time(model).into_iter().collect();
    model.outline.open = Some(lesson.id.clone());
    model.outline.cursor.filter.clear();
    let rows = model.outline.rows(&course, &model.state);
    let mut rows = rows.iter();
    let is_here = |row: &OutlineRow| matches!(row, OutlineRow::Step { at: row, .. } if *row == at);
    if let Some(index) = rows.position(is_here) {
        model.outline.cursor.row = index;
    }
    if let Some(StepView {
        at,
        panel: Some(panel),
        ..
    }) = model.step.take()
        && course
            .step(&at.lesson, &at.step)
            .is_some_and(|step| step.as_profile().is_some())
    {
        model.profiles.push((at, panel));
    }
    let read = model.profiles.iter().position(|(read, _)| *read == at);
    let shown = |run: &TutorRun| run.phase.is_alive() && matches!(run.job, Job::Run(_));
    model.step = Some(StepView {
        panel_open: model.run_at(&at).is_some_and(shown),
        panel: read.map(|index| model.profiles.remove(index).1),
        at: at.clone(),
        ..StepView::default()
    });
    let progress = model.progress_at(&at);
    model.screen = FocusedScreen::Step;
    model.clear_overlays();
    effects.push(Effect::Session(SessionRequest::Enter(at.clone())));
    if !progress.checks.is_empty() {
        effects.push(Effect::Session(SessionRequest::Look(at.clone())));
    }
    if let (Some(_), Some(target)) = (step.as_run(), &step.target)
        && model.run_at(&at).is_none()
    {
        effects.extend(runs::read_last(model, &at, target));
    }
    if step.as_profile().is_some() {
        effects.push(profiler::prepare(at, step.clone()));
    }
    Some(effects)
}

/// Records once that the learner has seen the end of the text.
pub fn read_to_its_end(model: &Model) -> Option<Effect> {
    let view = model.step.as_ref()?;
    let is_shown = model.screen == FocusedScreen::Step && model.overlay.is_none();
    let here = model.open_step(&model.course)?;
    let is_text = here.step.as_read().is_some();
    if !is_shown || !is_text || model.progress_at(&here.at).status == StepStatus::Done {
        return None;
    }
    is_at_its_end(model, view).then(|| Effect::Session(SessionRequest::Read(here.at)))
}

/// Returns whether the last line of the text is on the screen, even before it is drawn.
fn is_at_its_end(model: &Model, view: &StepView) -> bool {
    let (lines, room) = (document(model).lines.len(), text_area(model).height);
    view.scroll.first(lines, room.into()) + usize::from(room) >= lines
}

/// Returns whether more text lies below the last drawn part, and the learner has not chosen anything yet.
pub fn is_unread(model: &Model) -> bool {
    let view = model.step.as_ref();
    let view = view.filter(|view| view.choice.is_none() && !view.panel_open);
    view.is_some_and(|view| view.scroll.hidden().1 > 0)
}

/// Moves on through the text while there is more of it, then to the next step.
pub fn forward(model: &mut Model, here: &OpenStep) -> Effects {
    let view = model.step.as_ref()?;
    if !is_at_its_end(model, view) {
        scroll::text(model, PanelAction::PageDown);
        return None;
    }
    match primary(model, here) {
        Some(Primary::Next) => next(model, here),
        Some(Primary::Do(does, _)) => {
            let [act, next] =
                [Action::Act, Action::Next].map(|it| model.keys.shown(Area::Step, it));
            model.notify(format!("{act}: {does}. {next}: go on without it."))
        }
        None => model.notify("This is still running; one moment."),
    }
}

pub fn next(model: &mut Model, here: &OpenStep) -> Effects {
    let view = model.step.as_ref()?;
    if let Some(mut recall) = view.recall.clone() {
        recall.answered += usize::from(view.marked.is_some());
        recall.right += usize::from(view.marked.as_ref().is_some_and(|it| it.correct));
        return recall::go_on(model, recall);
    }
    if view.is_leftover {
        return end_of_lesson(model, here);
    }
    match following(&model.course, &model.state, &here.at) {
        Some(at) => open(model, at),
        None => end_of_lesson(model, here),
    }
}

fn end_of_lesson(model: &mut Model, here: &OpenStep) -> Effects {
    let course = Arc::clone(&model.course);
    let state = Arc::clone(&model.state);
    let OpenStep { lesson, .. } = here;
    let done = progress(&model.state, lesson);
    if done.finished == 1
        && done.count > 1
        && model.progress_at(&here.at).status != StepStatus::Open
    {
        // The first page starts the lesson's last step; the lesson itself begins now.
        let first = lesson.steps.first()?;
        return open(model, StepRef::new(&lesson.id, &first.id));
    }
    if !done.is_finished() {
        return go_to_unfinished(model, here, done.count - done.finished);
    }
    let lessons = course.lessons().skip_while(|other| other.id != lesson.id);
    let mut lessons = lessons.skip(1).filter(|it| state.is_on_path(it));
    let following = lessons.find(|lesson| access(&course, &model.state, lesson) == Access::Open);
    let page = lesson_end::page(model, lesson, following);
    let effects = match following {
        Some(following) => open_lesson(model, &following.id),
        None => {
            model.screen = FocusedScreen::Outline;
            recall::ask(model, None)
        }
    };
    // The page covers the next step, so closing it leads on.
    model.open(page);
    effects
}

/// At the end of a lesson, goes to the next step that is still open.
fn go_to_unfinished(model: &mut Model, here: &OpenStep, left: usize) -> Effects {
    let is_open = |at: &StepRef| model.progress_at(at).status == StepStatus::Open;
    let steps = here.lesson.steps.iter();
    let steps = steps.filter(|step| model.state.asks(here.lesson, step));
    let steps = steps.map(|step| StepRef::new(&here.lesson.id, &step.id));
    let (before, behind): (Vec<_>, Vec<_>) = steps
        .filter(is_open)
        .filter(|at| *at != here.at)
        .partition(|at| place(here.lesson, at) < place(here.lesson, &here.at));
    let skip = model.keys.shown(Area::Step, Action::Skip);
    let Some(at) = behind.into_iter().chain(before).next() else {
        return model.notify(format!(
            "This is the only open step of the lesson: do it, or skip it with {skip}."
        ));
    };
    let effects = open(model, at);
    if let Some(view) = &mut model.step {
        view.is_leftover = true;
    }
    let steps = if left == 1 { "step is" } else { "steps are" };
    model.notify(format!(
        "End of the lesson, and {left} {steps} left open: do this one, or skip it with {skip}."
    ));
    effects
}

fn place(lesson: &Lesson, at: &StepRef) -> Option<usize> {
    lesson.steps.iter().position(|step| step.id == at.step)
}

pub fn previous(model: &mut Model, here: &OpenStep) -> Effects {
    match neighbour(&model.course, &here.at, -1) {
        Some(at) => open(model, at),
        None => model.notify("This is the lesson's first step."),
    }
}

/// Moves through the choices of an open question, else through the text.
pub fn through_step(model: &mut Model, action: PanelAction) -> Effects {
    let choices = open_choices(model);
    let moved = model.step.as_ref().and_then(|view| match action {
        PanelAction::Up => view.choice.unwrap_or(choices).checked_sub(1),
        PanelAction::Down => {
            let next = view.choice.map_or(0, |choice| choice + 1);
            Some(next).filter(|choice| *choice < choices)
        }
        _ => None,
    });
    match moved.filter(|_| choices > 0) {
        Some(choice) => choose(model, choice),
        None => scroll::text(model, action),
    }
    None
}

fn choose(model: &mut Model, choice: usize) {
    if let Some(view) = &mut model.step {
        view.choice = Some(choice);
        view.reveal.set(Some(Reveal::Choice));
    }
}

/// A digit moves to the choice with this number. Returns false if there is none.
pub fn to_choice(model: &mut Model, key: Key) -> bool {
    let digits = ('1'..='9').zip(0..open_choices(model));
    let mut meant = digits.filter(|(digit, _)| key.code == KeyCode::Char(*digit));
    let choice = meant.next().map(|(_, choice)| choice);
    if let Some(choice) = choice {
        choose(model, choice);
    }
    choice.is_some()
}

/// Number of menu lines that the learner can choose.
fn open_choices(model: &Model) -> usize {
    if model.screen != FocusedScreen::Step || model.overlay.is_some() || model.has_panel_open() {
        return 0;
    }
    model.menu().len()
}
