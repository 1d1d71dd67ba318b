//! Where the device's time goes: by kernel, or by part of the model with the work counted for it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ratatui::text::Line;

use super::state::RunState;
use crate::analysis::Unit;
use crate::base::table::Align;
use crate::train::event::{Kernel, Kernels};
use crate::tui::pane::Pane;
use crate::tui::panel::{Command, Cursor, PanelAction};
use crate::tui::panels::table::{Cell, Table};
use crate::tui::panels::text::{count, milliseconds, name_lines, paragraph};
use crate::tui::theme::Theme;

/// What a row is ordered by: its name, time and launches.
type Key<'a> = (&'a str, f64, f64);

/// A key's words, and which row comes first then.
type Order = (&'static str, fn(&Key, &Key) -> Ordering);

/// Equals are ordered by their names.
const ORDERS: [Order; 3] = [
    ("sort by time", |a, b| b.1.total_cmp(&a.1)),
    ("sort by launches", |a, b| b.2.total_cmp(&a.2)),
    ("sort by name", |_, _| Ordering::Equal),
];

/// How the table is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    order: usize,
    /// By part of the model instead of by kernel.
    by_part: bool,
    cursor: Cursor,
}

impl Look {
    fn next_order(self) -> usize {
        (self.order + 1) % ORDERS.len()
    }

    fn table(self, state: &RunState) -> Table {
        match self.by_part {
            true => parts_table(state, self.order),
            false => kernels_table(state.kernels.as_ref(), self.order),
        }
    }

    pub fn act(&mut self, action: PanelAction, state: &RunState) -> bool {
        match action {
            PanelAction::Sort => self.order = self.next_order(),
            PanelAction::Toggle => {
                self.by_part = !self.by_part;
                self.cursor.row = 0;
            }
            _ => return self.table(state).move_cursor(&mut self.cursor, action),
        }
        true
    }

    pub fn commands(self) -> [Command; 2] {
        let toggle = match self.by_part {
            true => "by kernel",
            false => "by part",
        };
        [
            (PanelAction::Toggle, toggle),
            (PanelAction::Sort, ORDERS[self.next_order()].0),
        ]
    }

    pub fn draw(self, state: &RunState, mut pane: Pane) {
        pane.put(summary(state, pane.theme, pane.area.width));
        let table = self.table(state).at(self.cursor);
        if !table.rows.is_empty() {
            let foot = name_lines(table.selected_name(), pane.area.width, pane.theme);
            table.draw_over(foot, u16::MAX, &mut pane);
        }
    }

    /// Without a caption and without a selected row, for an overview.
    pub fn draw_short(self, state: &RunState, mut pane: Pane) {
        match &state.kernels {
            Some(kernels) => kernels_table(Some(kernels), self.order).draw(&mut pane),
            None => pane.put(summary(state, pane.theme, pane.area.width)),
        }
    }
}

fn summary(state: &RunState, theme: &Theme, wide: u16) -> Vec<Line<'static>> {
    let Some(kernels) = &state.kernels else {
        let text = if state.is_running() {
            "No kernel has been timed yet. A pass at the end times each kernel where the device can and --profile-steps asks for it."
        } else {
            "No kernel was timed in this run. On a GPU, --profile-steps 5 adds a pass that times each kernel."
        };
        return paragraph(text, wide, theme.muted());
    };
    let mut text = format!(
        "{} launches a step, over {} steps timed apart",
        count(kernels.launches_per_step),
        kernels.steps
    );
    match (kernels.device_ms_per_step, kernels.span_ms_per_step) {
        (Some(busy), Some(span)) if span > 0.0 => text.push_str(&format!(
            ": {} of work in {}",
            milliseconds(busy),
            milliseconds(span),
        )),
        (Some(busy), _) => text.push_str(&format!(": {} of work", milliseconds(busy))),
        (None, _) => text.push_str("; the device gave no time stamps"),
    }
    paragraph(&text, wide, theme.muted())
}

fn time_of(kernel: &Kernel) -> f64 {
    kernel.device_ms_per_step.unwrap_or(0.0)
}

fn compare(order: usize, a: Key, b: Key) -> Ordering {
    let (_, by) = ORDERS[order];
    by(&a, &b).then_with(|| a.0.cmp(b.0))
}

fn kernels_table<'a>(kernels: Option<&'a Kernels>, order: usize) -> Table {
    let mut table = Table::new(&[
        ("kernel", Align::Left),
        ("ms a step", Align::Right),
        ("share", Align::Right),
        ("launches", Align::Right),
        ("part", Align::Left),
        ("fused", Align::Right),
    ]);
    let Some(kernels) = kernels else { return table };
    let fused = kernels
        .kernels
        .iter()
        .any(|kernel| kernel.fused_operations.is_some());
    if !fused {
        table.columns.pop();
    }
    let total: f64 = kernels.kernels.iter().map(time_of).sum();
    let mut sorted: Vec<&Kernel> = kernels.kernels.iter().collect();
    let key = |kernel: &'a Kernel| -> Key<'a> {
        (&kernel.name, time_of(kernel), kernel.launches_per_step)
    };
    sorted.sort_by(|a, b| compare(order, key(a), key(b)));
    for kernel in sorted {
        let ms = kernel.device_ms_per_step;
        let mut row = vec![
            kernel.name.as_str().into(),
            Cell::figure(ms.map(|ms| format!("{ms:.4}"))),
            Cell::figure(share(ms, total)),
            count(kernel.launches_per_step).into(),
            kernel.part.as_str().into(),
        ];
        if fused {
            let operations = kernel.fused_operations;
            row.push(operations.map_or_else(|| "-".into(), |n| count(n).into()));
        }
        table.rows.push(row);
    }
    table
}

fn share(ms: Option<f64>, total: f64) -> Option<String> {
    let share = ms.filter(|_| total > 0.0)? / total;
    Some(format!("{:.1} %", 100.0 * share))
}

#[derive(Default)]
struct PartRow {
    ms: Option<f64>,
    launches: Option<f64>,
    flops: Option<f64>,
    bytes: Option<f64>,
}

fn parts_table(state: &RunState, order: usize) -> Table {
    let mut rows: BTreeMap<&str, PartRow> = BTreeMap::new();
    for kernel in state.kernels.iter().flat_map(|kernels| &kernels.kernels) {
        let row = rows.entry(&kernel.part).or_default();
        *row.launches.get_or_insert(0.0) += kernel.launches_per_step;
        if let Some(ms) = kernel.device_ms_per_step {
            *row.ms.get_or_insert(0.0) += ms;
        }
    }
    for part in state.parts.iter().flat_map(|parts| &parts.parts) {
        let row = rows.entry(&part.part).or_default();
        row.flops = Some(part.flops);
        row.bytes = Some(part.bytes);
        row.ms = row.ms.or(part.device_ms);
    }
    let total: f64 = rows.values().filter_map(|row| row.ms).sum();
    let mut sorted: Vec<(&str, PartRow)> = rows.into_iter().collect();
    sorted.sort_by(|(a, x), (b, y)| {
        let key = |name, row: &PartRow| (name, row.ms.unwrap_or(0.0), row.launches.unwrap_or(0.0));
        compare(order, key(*a, x), key(*b, y))
    });
    let mut table = Table::new(&[
        ("part of the model", Align::Left),
        ("ms a step", Align::Right),
        ("share", Align::Right),
        ("launches", Align::Right),
        ("FLOP counted", Align::Right),
        ("bytes counted", Align::Right),
        ("FLOP/byte", Align::Right),
    ]);
    for (name, row) in sorted {
        let intensity = row.flops.zip(row.bytes).filter(|(_, bytes)| *bytes > 0.0);
        table.rows.push(vec![
            name.into(),
            Cell::figure(row.ms.map(|ms| format!("{ms:.4}"))),
            Cell::figure(share(row.ms, total)),
            Cell::figure(row.launches.map(count)),
            Cell::figure(
                row.flops
                    .map(|flops| Unit::Count("").show(flops).trim_end().to_owned()),
            ),
            Cell::figure(row.bytes.map(|bytes| Unit::Bytes.show(bytes))),
            Cell::figure(intensity.map(|(flops, bytes)| format!("{:.2}", flops / bytes))),
        ]);
    }
    table
}
