//! Where things are.

use ratatui::layout::Rect;

use crate::tui::model::{Model, Screen};

/// Columns of the outline beside a step: a quarter of the screen, or what the longest line leaves, within these bounds.
const OUTLINE: (u16, u16) = (36, 56);
/// Longer lines are hard to read.
const LONGEST_LINE: u16 = 100;

pub struct Areas {
    pub header: Rect,
    pub outline: Option<Rect>,
    pub divider: Option<Rect>,
    pub content: Option<Rect>,
    pub status: Rect,
    pub bar: Rect,
}

/// Header, then outline and step (side by side where there is room), then a status line and the command bar.
pub fn areas(model: &Model, area: Rect) -> Areas {
    let row = |y: u16| Rect::new(area.x, area.y + y, area.width, 1);
    let middle = Rect::new(
        area.x,
        area.y + 1,
        area.width,
        area.height.saturating_sub(3),
    );
    let (outline, divider, content) = match (model.is_wide(), model.screen) {
        // Figures need the width more than the outline does.
        (true, screen) if screen == Screen::Outline || !model.has_panel_open() => {
            let left_over = middle.width.saturating_sub(LONGEST_LINE + 2);
            let width = (middle.width / 4)
                .max(left_over)
                .clamp(OUTLINE.0, OUTLINE.1);
            let outline = Rect { width, ..middle };
            let divider = Rect::new(outline.right(), middle.y, 1, middle.height);
            let content = Rect::new(
                divider.right(),
                middle.y,
                middle.width.saturating_sub(width + 1),
                middle.height,
            );
            (Some(outline), Some(divider), Some(content))
        }
        (_, Screen::Outline) => (Some(middle), None, None),
        (_, Screen::Step) => (None, None, Some(middle)),
    };
    Areas {
        header: row(0),
        outline,
        divider,
        content,
        status: row(area.height.saturating_sub(2)),
        bar: row(area.height.saturating_sub(1)),
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
