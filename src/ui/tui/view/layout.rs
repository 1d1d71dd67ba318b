//! Areas of the screen.

use ratatui::layout::Rect;

use super::status;
use crate::tui::{FocusedScreen, LONGEST_LINE, Model};

/// Least and greatest width of the outline next to a step. In between it takes three eighths of the screen, or more
/// if the longest line leaves more.
const OUTLINE: (u16, u16) = (36, 56);
/// Least columns of a text with its margins next to figures, and of the figures. The outline is hidden if
/// they need its room.
const LEAST_TEXT: u16 = 63;
const LEAST_FIGURES: u16 = 54;

#[derive(Default)]
pub struct Areas {
    pub header: Rect,
    pub outline: Option<Rect>,
    pub content: Option<Rect>,
    /// Figures of the open step, if they have a column next to its text.
    pub figures: Option<Rect>,
    pub dividers: Vec<Rect>,
    pub status: Rect,
    pub bar: Rect,
}

/// Header at the top; outline, step and figures below it, side by side if there is room; then status line and
/// command bar.
pub fn areas(model: &Model, area: Rect) -> Areas {
    let row = |y: u16, height: u16| Rect::new(area.x, area.y + y, area.width, height);
    let status = status::height(model, area.width);
    let middle = row(1, area.height.saturating_sub(2 + status));
    let mut areas = Areas {
        header: row(0, 1),
        status: row(area.height.saturating_sub(1 + status), status),
        bar: row(area.height.saturating_sub(1), 1),
        ..Areas::default()
    };
    let figures_fill = model.has_panel_open() && !model.has_figures_beside();
    match model.screen {
        FocusedScreen::Outline if !model.is_wide() => areas.outline = Some(middle),
        // Figures need the width more than the outline does.
        FocusedScreen::Step if !model.is_wide() || figures_fill => areas.content = Some(middle),
        _ => areas.side_by_side(model, middle),
    }
    areas
}

impl Areas {
    fn side_by_side(&mut self, model: &Model, middle: Rect) {
        let mut rest = middle;
        let figures = model.has_figures_beside();
        let all_fit = middle.width >= OUTLINE.0 + LEAST_TEXT + LEAST_FIGURES + 2;
        let is_asked_for = model.screen == FocusedScreen::Outline;
        if !figures || all_fit || is_asked_for {
            let left_over = match figures {
                true if all_fit => middle.width - (LEAST_TEXT + LEAST_FIGURES + 2),
                true => middle.width.saturating_sub(LEAST_FIGURES + 1),
                false => (middle.width * 3 / 8).max(middle.width.saturating_sub(LONGEST_LINE + 2)),
            };
            let width = left_over.clamp(OUTLINE.0, OUTLINE.1);
            self.outline = Some(self.cut(&mut rest, width));
        }
        match figures {
            // The outline covers the text until the learner leaves it.
            true if is_asked_for && !all_fit => self.figures = Some(rest),
            true => {
                let most = rest.width.saturating_sub(LEAST_TEXT + 1).max(LEAST_FIGURES);
                let figures = (middle.width / 2).clamp(LEAST_FIGURES, most);
                let text = rest.width.saturating_sub(figures + 1);
                self.content = Some(self.cut(&mut rest, text));
                self.figures = Some(rest);
            }
            false => self.content = Some(rest),
        }
    }

    /// Cuts the left columns off `rest`, with a divider to their right.
    fn cut(&mut self, rest: &mut Rect, width: u16) -> Rect {
        let left = Rect { width, ..*rest };
        self.dividers.push(Rect {
            x: left.right(),
            width: 1,
            ..*rest
        });
        rest.x = left.right() + 1;
        rest.width = rest.width.saturating_sub(width + 1);
        left
    }
}

/// The area within a margin, at most as wide as a readable line.
pub fn inside(area: Rect) -> Rect {
    Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(3).min(LONGEST_LINE),
        ..area
    }
}

/// The area for the text of the step on the model's screen.
pub fn text_area(model: &Model) -> Rect {
    let (width, height) = model.size;
    let areas = areas(model, Rect::new(0, 0, width, height));
    let middle = Rect::new(0, 1, width, height.saturating_sub(3));
    inside(areas.content.unwrap_or(middle))
}
