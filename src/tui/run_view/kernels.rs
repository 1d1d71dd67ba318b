//! Where the device's time goes: by kernel, or by part of the model with the work counted for it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::state::RunState;
use crate::analysis::Unit;
use crate::base::table::Align;
use crate::train::event::{Kernel, Kernels};
use crate::tui::panels::table::{Cell, Table};
use crate::tui::panels::text::{count, milliseconds, paragraph, put};
use crate::tui::theme::Theme;

/// Lines for the whole name of the selected kernel.
const NAME_LINES: usize = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Time,
    Launches,
    Name,
}

impl Order {
    pub fn next(self) -> Self {
        match self {
            Order::Time => Order::Launches,
            Order::Launches => Order::Name,
            Order::Name => Order::Time,
        }
    }

    /// For the key that brings this order about.
    pub fn command(self) -> &'static str {
        match self {
            Order::Time => "sort by time",
            Order::Launches => "sort by launches",
            Order::Name => "sort by name",
        }
    }
}

/// How the table is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    pub order: Order,
    /// By part of the model instead of by kernel.
    pub by_part: bool,
    pub selected: usize,
    pub shift: usize,
}

/// Rows of the table.
pub fn rows(state: &RunState, look: Look) -> usize {
    if look.by_part {
        parts_table(state, look).rows.len()
    } else {
        state
            .kernels
            .as_ref()
            .map_or(0, |kernels| kernels.kernels.len())
    }
}

pub fn render(state: &RunState, look: Look, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let mut lines = summary(state, theme, area.width);
    lines.truncate(usize::from(area.height));
    let rest = put(lines, area, buffer);
    let mut table = if look.by_part {
        parts_table(state, look)
    } else {
        kernels_table(state.kernels.as_ref(), look)
    };
    if table.rows.is_empty() {
        return;
    }
    let selected = look.selected.min(table.rows.len() - 1);
    table.selected = Some(selected);
    table.shift = look.shift;
    // Names of generated kernels are long, and their ends tell them apart.
    let name = table.rows.get(selected).and_then(|row| row.first());
    let name = name.map_or("", |cell| cell.text.as_str());
    let foot: Vec<Line> = paragraph(name, area.width, theme.code())
        .into_iter()
        .take(NAME_LINES)
        .collect();
    let room = rest.height.saturating_sub(foot.len() as u16 + 1);
    let height = room.min(table.height());
    table.render(Rect { height, ..rest }, buffer, theme);
    let below = Rect {
        y: rest.y + height,
        height: rest.height - height,
        ..rest
    };
    put([Line::default()].into_iter().chain(foot), below, buffer);
}

/// Without a caption and without a selected row, for an overview.
pub fn render_short(state: &RunState, look: Look, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    match &state.kernels {
        Some(kernels) => kernels_table(Some(kernels), look).render(area, buffer, theme),
        None => {
            put(summary(state, theme, area.width), area, buffer);
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

fn compare(order: Order, a: (&str, f64, f64), b: (&str, f64, f64)) -> Ordering {
    let by_name = || a.0.cmp(b.0);
    match order {
        Order::Time => b.1.total_cmp(&a.1).then_with(by_name),
        Order::Launches => b.2.total_cmp(&a.2).then_with(by_name),
        Order::Name => by_name(),
    }
}

fn kernels_table(kernels: Option<&Kernels>, look: Look) -> Table {
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
    sorted.sort_by(|a, b| {
        compare(
            look.order,
            (&a.name, time_of(a), a.launches_per_step),
            (&b.name, time_of(b), b.launches_per_step),
        )
    });
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

fn parts_table(state: &RunState, look: Look) -> Table {
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
        compare(look.order, key(*a, x), key(*b, y))
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
