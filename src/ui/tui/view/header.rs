//! The first line: the learner's position and the time spent.

use ratatui::text::Span;

use crate::tui::{FocusedScreen, Model, Pane, both_ends, width};
use tinyllama_session::progress::progress;
use tinyllama_tutor_core::say;

pub fn draw(model: &Model, mut pane: Pane) {
    let style = model.theme.selection();
    pane.buffer.set_style(pane.area, style);
    let here = model.open_step(&model.course);
    let (title, place, minutes) = match here.filter(|_| model.screen == FocusedScreen::Step) {
        Some(here) => {
            let steps = &here.lesson.steps;
            let index = steps.iter().position(|other| other.id == here.step.id);
            let number = index.map_or(1, |index| index + 1);
            let minutes = say::minutes(
                &progress(&model.state, here.lesson),
                here.lesson,
                &model.state,
            );
            let place = format!("Step {number} of {}", steps.len());
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
