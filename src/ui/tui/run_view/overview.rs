//! Shows everything at once, as far as there is room.
//!
//! ```text
//! 160 columns                      80 columns            60 columns
//! time        | loss    | figures  time      | figures   figures
//! memory      | launches|          loss      |           last stderr_tail
//! kernels               | stderr_tail    last stderr_tail
//! ```

use ratatui::prelude::{Constraint, Line, Rect};

use super::charts;
use super::curves::ChartSpan;
use super::figures;
use super::header::trouble;
use super::journal::Voice;
use super::kernels::KernelTableView;
use super::state::RunState;
use super::{log, result};
use crate::tui::{Pane, Theme};

/// Rows of a chart below figures.
const CHART: u16 = 8;

/// Columns of the figures next to charts.
const FIGURES: u16 = 40;

pub fn draw(state: &RunState, span: ChartSpan, look: &KernelTableView, mut pane: Pane) {
    let result = result::lines(state, pane.area.width, pane.area.height.into(), pane.theme);
    pane.put(result);
    let failed = failed(state);
    if failed || state.silent.is_some() {
        failure(state, &mut pane);
    }
    if pane.area.height == 0 {
        return;
    }
    if failed && state.step.is_none() {
        return log::draw(&state.journal, 0, pane);
    }
    match (pane.area.width, pane.area.height) {
        (120.., 28..) => large(state, span, look, pane),
        (76.., 8..) => medium(state, span, pane),
        _ => small(state, span, pane),
    }
}

fn failed(state: &RunState) -> bool {
    !state.is_running() && !state.succeeded()
}

/// The problem, its remedy, and the last lines of the error stream.
fn failure(state: &RunState, pane: &mut Pane) {
    let (wide, theme) = (pane.area.width, pane.theme);
    let mut lines = trouble(state, wide, theme);
    let stderr = state.journal.entries_of(Voice::Stderr).rev().take(4);
    let stderr_tail =
        stderr.flat_map(|entry| log::entry_lines(entry, wide, theme).into_iter().take(1));
    let stderr_tail: Vec<Line> = stderr_tail.collect();
    lines.extend(stderr_tail.into_iter().rev());
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    pane.put(lines);
}

fn small(state: &RunState, span: ChartSpan, mut pane: Pane) {
    pane.put(figures::lines(state, pane.area.width, pane.theme));
    for chart in [charts::time(state), charts::loss(state)] {
        if pane.area.height > CHART {
            pane.take(1);
            chart.draw(span, pane.take(CHART));
        }
    }
    if pane.area.height > 1 && !state.journal.entries.is_empty() && !failed(state) {
        pane.take(1);
        log::draw(&state.journal, 0, pane);
    }
}

fn medium(state: &RunState, span: ChartSpan, mut pane: Pane) {
    let most = if pane.area.height >= 22 { 2 } else { 1 };
    let stderr_tail = stderr_lines(state, pane.area.width, most, pane.theme);
    let rows = [
        Constraint::Fill(1),
        Constraint::Length(stderr_tail.len() as u16),
    ];
    let [body, foot] = pane.rows(rows);
    pane.sub_pane(foot).put(stderr_tail);
    let mut pane = pane.sub_pane(body);
    let [left, _, right] = pane.columns([
        Constraint::Fill(1),
        Constraint::Length(2),
        Constraint::Length(FIGURES.min(body.width / 2)),
    ]);
    let lines = figures::lines(state, right.width, pane.theme);
    pane.sub_pane(right).put(lines);
    let mut pane = pane.sub_pane(left);
    if body.height >= 14 {
        let [time, loss] = pane.rows([Constraint::Fill(3), Constraint::Fill(2)]);
        charts::time(state).draw(span, pane.sub_pane(time));
        charts::loss(state).draw(span, pane.sub_pane(loss));
    } else {
        charts::time(state).draw(span, pane);
    }
}

/// The last note or line of output, in at most `most` lines.
fn stderr_lines(state: &RunState, wide: u16, most: usize, theme: &Theme) -> Vec<Line<'static>> {
    // After a failure the last lines already stand above.
    let last = state.journal.entries.iter().next_back();
    let last = last.filter(|_| !failed(state)).into_iter();
    let mut lines: Vec<Line> = last
        .flat_map(|entry| log::entry_lines(entry, wide, theme))
        .collect();
    if lines.len() > most {
        lines.truncate(most);
        lines[most - 1].push_span(theme.glyphs.ellipsis);
    }
    lines
}

fn large(state: &RunState, span: ChartSpan, look: &KernelTableView, mut pane: Pane) {
    let [top, _, middle, _, bottom] = pane.rows([
        Constraint::Fill(3),
        Constraint::Length(1),
        Constraint::Fill(2),
        Constraint::Length(1),
        Constraint::Fill(3),
    ]);
    let [left, _, centre, _, right] = pane.columns([
        Constraint::Fill(1),
        Constraint::Length(2),
        Constraint::Fill(1),
        Constraint::Length(2),
        Constraint::Length(FIGURES + 4),
    ]);
    let charts = [
        (charts::time(state), left, top),
        (charts::loss(state), centre, top),
        (charts::memory(state), left, middle),
        (charts::launches(state), centre, middle),
    ];
    for (chart, column, row) in charts {
        chart.draw(span, pane.sub_pane(column.intersection(row)));
    }
    // The figures may continue next to the charts of the middle row.
    let figures = right.intersection(top.union(middle));
    let lines = figures::lines(state, figures.width, pane.theme);
    pane.sub_pane(figures).put(lines);
    let kernels = Rect {
        width: centre.right() - left.x,
        ..bottom
    };
    look.draw_short(state, pane.sub_pane(kernels));
    log::draw(&state.journal, 0, pane.sub_pane(right.intersection(bottom)));
}
