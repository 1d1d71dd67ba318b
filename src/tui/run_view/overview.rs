//! Everything at once, as far as there is room.
//!
//! ```text
//! 160 columns                      80 columns            60 columns
//! time        | loss    | figures  time      | figures   figures
//! memory      | launches|          loss      |           last words
//! kernels               | words    last words
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;

use super::charts;
use super::curves::Span;
use super::figures;
use super::header::trouble;
use super::journal::Voice;
use super::kernels::{self, Look};
use super::log;
use super::state::RunState;
use crate::tui::panels::text::put;
use crate::tui::theme::Theme;

/// Columns of the figures beside charts.
const FIGURES: u16 = 40;

pub fn render(
    state: &RunState,
    span: Span,
    look: Look,
    area: Rect,
    buffer: &mut Buffer,
    theme: &Theme,
) {
    let failed = failed(state);
    let area = if failed {
        failure(state, area, buffer, theme)
    } else {
        area
    };
    if area.height == 0 {
        return;
    }
    if failed && state.step.is_none() {
        log::render(&state.journal, 0, area, buffer, theme);
        return;
    }
    match (area.width, area.height) {
        (120.., 28..) => large(state, span, look, area, buffer, theme),
        (76.., 8..) => medium(state, span, area, buffer, theme),
        _ => small(state, area, buffer, theme),
    }
}

fn failed(state: &RunState) -> bool {
    !state.is_running() && !state.succeeded()
}

/// What went wrong, what to do, and the last words; returns what is left of the area.
fn failure(state: &RunState, area: Rect, buffer: &mut Buffer, theme: &Theme) -> Rect {
    let mut lines = trouble(state, area.width, theme);
    let wide = usize::from(area.width).saturating_sub(7).max(8);
    let stderr = state.journal.of(Voice::Stderr).rev().take(4);
    let mut words: Vec<Line> = stderr
        .flat_map(|entry| log::entry_lines(entry, wide, theme).into_iter().take(1))
        .collect();
    words.reverse();
    lines.extend(words);
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    put(lines, area, buffer)
}

fn small(state: &RunState, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let rest = put(figures::lines(state, area.width, theme), area, buffer);
    if rest.height > 1 && state.journal.len() > 0 && !failed(state) {
        let rest = below(rest);
        log::render(&state.journal, 0, rest, buffer, theme);
    }
}

/// Without its first line.
fn below(area: Rect) -> Rect {
    Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    }
}

fn medium(state: &RunState, span: Span, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let most = if area.height >= 22 { 2 } else { 1 };
    let words = last_words(state, area.width, most, theme);
    let [body, foot] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(words.len() as u16)]).areas(area);
    put(words, foot, buffer);
    let [left, _, right] = Layout::horizontal([
        Constraint::Fill(1),
        Constraint::Length(2),
        Constraint::Length(FIGURES.min(body.width / 2)),
    ])
    .areas(body);
    put(figures::lines(state, right.width, theme), right, buffer);
    if body.height >= 14 {
        let [time, loss] = Layout::vertical([Constraint::Fill(3), Constraint::Fill(2)]).areas(left);
        charts::time(state, span, time, buffer, theme);
        charts::loss(state, span, loss, buffer, theme);
    } else {
        charts::time(state, span, left, buffer, theme);
    }
}

/// The last note or line of output, in at most so many lines.
fn last_words(state: &RunState, wide: u16, most: usize, theme: &Theme) -> Vec<Line<'static>> {
    // After a failure they are above already.
    let last = state
        .journal
        .entries()
        .next_back()
        .filter(|_| !failed(state));
    last.map_or_else(Vec::new, |entry| {
        let mut lines = log::entry_lines(entry, usize::from(wide).saturating_sub(7).max(8), theme);
        lines.truncate(most);
        lines
    })
}

fn large(state: &RunState, span: Span, look: Look, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let rows = [
        Constraint::Fill(3),
        Constraint::Length(1),
        Constraint::Fill(2),
        Constraint::Length(1),
        Constraint::Fill(3),
    ];
    let [top, _, middle, _, bottom] = Layout::vertical(rows).areas(area);
    let columns = |area: Rect| -> [Rect; 3] {
        let [left, _, middle, _, right] = Layout::horizontal([
            Constraint::Fill(1),
            Constraint::Length(2),
            Constraint::Fill(1),
            Constraint::Length(2),
            Constraint::Length(FIGURES + 4),
        ])
        .areas(area);
        [left, middle, right]
    };
    let [time, loss, figures] = columns(top);
    let [memory, launches, _] = columns(middle);
    let [kernels, more_kernels, words] = columns(bottom);
    charts::time(state, span, time, buffer, theme);
    charts::loss(state, span, loss, buffer, theme);
    charts::memory(state, span, memory, buffer, theme);
    charts::launches(state, span, launches, buffer, theme);
    // The figures may go on beside the charts in the middle.
    let figures = figures.union(Rect {
        y: middle.y,
        height: middle.height,
        ..figures
    });
    put(figures::lines(state, figures.width, theme), figures, buffer);
    kernels::render_short(state, look, kernels.union(more_kernels), buffer, theme);
    log::render(&state.journal, 0, words, buffer, theme);
}
