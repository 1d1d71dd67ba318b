//! Handles the instructor's keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use tinyllama_lesson::Course;
use tinyllama_tutor_core::instructor::{Dashboard, InstructorAction, LearnerView, Prompt};

/// The result of a key.
#[derive(Debug, PartialEq)]
pub(super) enum KeyOutcome {
    Nothing,
    Do(InstructorAction),
    /// Shows the report of a learner.
    Report(String),
    /// Shows a step for a projector.
    Present,
    Help,
    Leave,
}

/// A key, its word in the bar, and its description on the help page.
type KeyHelp = (&'static str, &'static str, &'static str);

/// Most useful first. Keys that do not fit into the bar, or have no word for it, are only on the help page.
pub(super) const HELP: [KeyHelp; 19] = [
    ("enter", "report", "everything known about this learner"),
    (
        "v",
        "present",
        "the step of this learner, or of the pinned lesson, with the answers of the class; left and right turn",
    ),
    ("tab", "figures", "lessons, or figures and places"),
    (
        "space",
        "mark",
        "mark this learner: m, r, l, b and u act on all marked ones",
    ),
    ("?", "help", "this page"),
    ("q", "quit", "quit; learners notice nothing"),
    ("m", "message", "a message to these learners"),
    ("M", "to all", "a message to everyone"),
    (
        "r",
        "reset step",
        "reset the step these learners are at; a backup is kept",
    ),
    ("l", "reset lesson", "reset the lesson; a backup is kept"),
    ("b", "restore", "undo the newest reset of these learners"),
    (
        "u",
        "unlock",
        "open a lesson before its time; tab completes its name",
    ),
    ("s", "solve", "do the step for the learner"),
    (
        "p",
        "pin",
        "ask the class to work on one lesson; tab completes its name",
    ),
    ("/", "filter", "list only learners or lessons with a text"),
    (
        "o",
        "order",
        "another order: help first, name, steps done, minutes",
    ),
    ("up down", "", "choose a learner"),
    (
        "left right",
        "",
        "choose a lesson, which is described below the grid",
    ),
    ("esc", "", "leave the entry, the page, or the marks"),
];

pub(super) fn on_key(dashboard: &mut Dashboard, key: KeyEvent, course: &Course) -> KeyOutcome {
    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
        return KeyOutcome::Leave;
    }
    match dashboard.entry.clone() {
        Some(entry) if entry.asks_for_text() => in_text(dashboard, key, course),
        Some(_) => match key.code {
            KeyCode::Char('y' | 'Y') => accept(dashboard, course),
            _ => {
                dashboard.cancel();
                KeyOutcome::Nothing
            }
        },
        None => in_list(dashboard, key, course),
    }
}

fn in_text(dashboard: &mut Dashboard, key: KeyEvent, course: &Course) -> KeyOutcome {
    match key.code {
        KeyCode::Enter => return accept(dashboard, course),
        KeyCode::Esc => dashboard.cancel(),
        KeyCode::Tab => dashboard.complete(course),
        KeyCode::Backspace => drop(dashboard.text.pop()),
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
            dashboard.text.push(c)
        }
        _ => {}
    }
    KeyOutcome::Nothing
}

fn accept(dashboard: &mut Dashboard, course: &Course) -> KeyOutcome {
    let case_move = dashboard.accept(course).unwrap_or_else(|error| {
        dashboard.news = error.to_string();
        None
    });
    case_move.map_or(KeyOutcome::Nothing, KeyOutcome::Do)
}

/// Starts an input about the chosen learners.
type Begin = fn(&[&LearnerView]) -> Option<Prompt>;

const ENTRIES: [(char, Begin); 6] = [
    ('m', |views| {
        let to = names(views);
        Some(Prompt::Message { to })
    }),
    ('M', |_| Some(Prompt::MessageToAll)),
    ('u', |views| {
        let learners = names(views);
        Some(Prompt::Unlock { learners })
    }),
    ('p', |_| Some(Prompt::Pin)),
    ('r', |views| {
        let of = act_on_each(views, step_name);
        (!of.is_empty()).then_some(Prompt::ResetStep { of })
    }),
    ('l', |views| {
        let lesson = |view: &LearnerView| Some(view.position.as_ref()?.at.lesson.clone());
        let of = act_on_each(views, lesson);
        (!of.is_empty()).then_some(Prompt::ResetLesson { of })
    }),
];

fn names(views: &[&LearnerView]) -> Vec<String> {
    views.iter().map(|view| view.name.clone()).collect()
}

/// Pairs each learner who has a position with what `of` returns for them.
fn act_on_each(
    views: &[&LearnerView],
    of: impl Fn(&LearnerView) -> Option<String>,
) -> Vec<(String, String)> {
    let each = views
        .iter()
        .filter_map(|view| Some((view.name.clone(), of(view)?)));
    each.collect()
}

fn in_list(dashboard: &mut Dashboard, key: KeyEvent, course: &Course) -> KeyOutcome {
    let name = dashboard.selected().map(|view| view.name.clone());
    match key.code {
        KeyCode::Char('q') => return KeyOutcome::Leave,
        KeyCode::Char('?') | KeyCode::F(1) => return KeyOutcome::Help,
        KeyCode::Enter => return name.map_or(KeyOutcome::Nothing, KeyOutcome::Report),
        KeyCode::Char('v') => return KeyOutcome::Present,
        KeyCode::Tab => dashboard.in_figures = !dashboard.in_figures,
        KeyCode::Esc => {
            dashboard.news.clear();
            dashboard.clear_marks();
        }
        KeyCode::Char('/') => {
            dashboard.cancel();
            dashboard.entry = Some(Prompt::Filter);
        }
        KeyCode::Char('o') => dashboard.sort(),
        KeyCode::Char(' ') => dashboard.mark(),
        KeyCode::Left => dashboard.move_column_by(-1),
        KeyCode::Right => dashboard.move_column_by(1),
        KeyCode::Up | KeyCode::Char('k') => dashboard.move_by(-1),
        KeyCode::Down | KeyCode::Char('j') => dashboard.move_by(1),
        KeyCode::PageUp => dashboard.move_by(-10),
        KeyCode::PageDown => dashboard.move_by(10),
        KeyCode::Char('s') => begin_solving(dashboard, course),
        KeyCode::Char('b') => {
            let learners = names(&dashboard.chosen());
            return match learners.is_empty() {
                true => KeyOutcome::Nothing,
                false => KeyOutcome::Do(InstructorAction::RestoreNewest { learners }),
            };
        }
        KeyCode::Char(c) => match ENTRIES.iter().find(|(key, _)| *key == c) {
            Some((_, begin)) => dashboard.begin(begin),
            None => dashboard.news = format!("No key `{c}`; ? shows them all."),
        },
        _ => {}
    }
    KeyOutcome::Nothing
}

fn step_name(view: &LearnerView) -> Option<String> {
    let at = &view.position.as_ref()?.at;
    Some(at.to_string())
}

/// Steps with a run are refused, because the dashboard would stand still for minutes.
fn begin_solving(dashboard: &mut Dashboard, course: &Course) {
    let Some(view) = dashboard.selected() else {
        return;
    };
    let at = view.position.as_ref().map(|position| &position.at);
    let step = at.and_then(|at| course.step(&at.lesson, &at.step));
    if step.is_some_and(|step| step.as_run().is_some()) {
        let name = step_name(view).unwrap_or_default();
        dashboard.news = format!(
            "This step trains. In another terminal: tinyllama-tutor instructor solve {} {name}",
            view.name
        );
        return;
    }
    let solve = |view: &LearnerView| {
        Some(Prompt::Solve {
            learner: view.name.clone(),
            step: step_name(view)?,
        })
    };
    let entry = dashboard.selected().and_then(solve);
    dashboard.cancel();
    dashboard.entry = entry;
}
