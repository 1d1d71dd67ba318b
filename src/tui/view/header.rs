//! The first line: where one is, and how long it took.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::session::progress::progress;
use crate::tui::model::{Model, Screen};
use crate::tui::panels::text::cut;
use crate::tutor::say;

pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    buffer.set_style(area, model.theme.selection());
    let (left, right) = match (model.screen, model.current()) {
        (Screen::Step, Some((lesson, step, _))) => {
            let index = lesson.steps.iter().position(|other| other.id == step.id);
            let number = index.map_or(1, |index| index + 1);
            let minutes = say::minutes(&progress(&model.state, lesson), lesson.minutes);
            (
                format!(" {}", lesson.title),
                format!("Step {number} of {}   {minutes} ", lesson.steps.len()),
            )
        }
        _ => {
            let (minutes, planned, done, lessons) =
                say::course_progress(&model.course, &model.state);
            (
                format!(" {}", model.course.title),
                format!(
                    "{done} of {lessons} lessons   {} of {planned} min ",
                    say::whole(minutes)
                ),
            )
        }
    };
    let room = usize::from(area.width).saturating_sub(right.chars().count() + 1);
    let style = model.theme.selection();
    let line = Line::from(Span::styled(
        cut(&left, room, &model.theme),
        style.patch(model.theme.emphasis()),
    ));
    buffer.set_line(area.x, area.y, &line, area.width);
    let width = u16::try_from(right.chars().count()).unwrap_or(area.width);
    if width < area.width {
        buffer.set_string(area.right() - width, area.y, right, style);
    }
}
