//! Where things are.

use ratatui::layout::Rect;

use super::status;
use crate::tui::{Model, Screen};

/// Columns of the outline beside a step: three eighths of the screen, or what the longest line leaves, within these bounds.
const OUTLINE: (u16, u16) = (36, 56);
/// Longer lines are hard to read.
const LONGEST_LINE: u16 = 100;
/// Columns that a text with its margins keeps beside figures, and these beside it. Where both have no more, the outline goes.
const LEAST_TEXT: u16 = 63;
const LEAST_FIGURES: u16 = 54;

#[derive(Default)]
pub struct Areas {
    pub header: Rect,
    pub outline: Option<Rect>,
    pub content: Option<Rect>,
    /// Of the step that is open, where they stand beside its text.
    pub figures: Option<Rect>,
    pub dividers: Vec<Rect>,
    pub status: Rect,
    pub bar: Rect,
}

/// Header, then outline, step and its figures (side by side where there is room), then what is to be said and the command
/// bar.
pub fn areas(model: &Model, area: Rect) -> Areas {
    let row = |y: u16, height: u16| Rect::new(area.x, area.y + y, area.width, height);
    let said = status::height(model, area.width);
    let middle = row(1, area.height.saturating_sub(2 + said));
    let mut areas = Areas {
        header: row(0, 1),
        status: row(area.height.saturating_sub(1 + said), said),
        bar: row(area.height.saturating_sub(1), 1),
        ..Areas::default()
    };
    let figures_fill = model.has_panel_open() && !model.has_figures_beside();
    match model.screen {
        Screen::Outline if !model.is_wide() => areas.outline = Some(middle),
        // Figures need the width more than the outline does.
        Screen::Step if !model.is_wide() || figures_fill => areas.content = Some(middle),
        _ => areas.side_by_side(model, middle),
    }
    areas
}

impl Areas {
    fn side_by_side(&mut self, model: &Model, middle: Rect) {
        let mut rest = middle;
        let figures = model.has_figures_beside();
        let all_fit = middle.width >= OUTLINE.0 + LEAST_TEXT + LEAST_FIGURES + 2;
        let is_asked_for = model.screen == Screen::Outline;
        if !figures || all_fit || is_asked_for {
            let left_over = match figures {
                true => middle.width.saturating_sub(LEAST_TEXT + LEAST_FIGURES + 2),
                false => (middle.width * 3 / 8).max(middle.width.saturating_sub(LONGEST_LINE + 2)),
            };
            let width = left_over.clamp(OUTLINE.0, OUTLINE.1);
            self.outline = Some(self.cut(&mut rest, width));
        }
        match figures {
            // The outline covers the text until it is left again.
            true if is_asked_for && !all_fit => self.figures = Some(rest),
            true => {
                let most = rest.width.saturating_sub(LEAST_TEXT + 1).max(LEAST_FIGURES);
                let figures = (middle.width * 9 / 20).clamp(LEAST_FIGURES, most);
                let text = rest.width.saturating_sub(figures + 1);
                self.content = Some(self.cut(&mut rest, text));
                self.figures = Some(rest);
            }
            false => self.content = Some(rest),
        }
    }

    /// The left columns of `rest`, with a divider behind them.
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

/// Content with a margin, and no wider than one likes to read.
pub fn inside(area: Rect) -> Rect {
    Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(3).min(LONGEST_LINE),
        ..area
    }
}

/// Where a step's text goes on the screen the model is for.
pub fn text_area(model: &Model) -> Rect {
    let (width, height) = model.size;
    let areas = areas(model, Rect::new(0, 0, width, height));
    let middle = Rect::new(0, 1, width, height.saturating_sub(3));
    inside(areas.content.unwrap_or(middle))
}
