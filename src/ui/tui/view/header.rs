//! The first line: the learner's position and the time spent.

use ratatui::text::Span;

use crate::tui::{FocusedScreen, Model, OpenStep, Pane, both_ends, width};
use tinyllama_lesson::Step;
use tinyllama_session::progress::{progress, steps_on_path};
use tinyllama_tutor_core::say;

pub fn draw(model: &Model, mut pane: Pane) {
    let style = model.theme.selection();
    pane.buffer.set_style(pane.area, style);
    let here = model.open_step(&model.course);
    let (title, place, minutes) = match here.filter(|_| model.screen == FocusedScreen::Step) {
        Some(here) => {
            let place = place(model, &here);
            let minutes = say::minutes(
                &progress(&model.state, here.lesson),
                here.lesson,
                &model.state,
            );
            (&here.lesson.title, place, minutes)
        }
        None => {
            let (minutes, planned, done, lessons) =
                say::course_progress(&model.course, &model.state);
            let minutes = format!("{} of {planned} min", say::whole_minutes(minutes));
            let place = format!("{done} of {lessons} lessons");
            (&model.course.title, place, minutes)
        }
    };
    let whole = format!("{place}   {minutes} ");
    // The title is more important than the minutes.
    let fits = width(title) + width(&whole) + 2 <= usize::from(pane.area.width);
    let (left, right) = (format!(" {title}"), if fits { whole } else { place + " " });
    let left = Span::styled(left, style.patch(model.theme.emphasis()));
    let right = Span::styled(right, style);
    pane.put([both_ends(
        vec![left],
        right,
        1,
        pane.area.width,
        &model.theme,
    )]);
}

/// The step's number among those of the lesson that are on the learner's path, or among all if it is not on it.
fn place(model: &Model, here: &OpenStep) -> String {
    let is_here = |step: &&Step| step.id == here.step.id;
    let on_path = steps_on_path(&model.state, here.lesson);
    if let Some(index) = on_path.iter().position(is_here) {
        return format!("Step {} of {}", index + 1, on_path.len());
    }
    let steps: Vec<&Step> = here.lesson.steps.iter().collect();
    let index = steps.iter().position(is_here).unwrap_or_default();
    format!("Step {} of {}, not on your path", index + 1, steps.len())
}
