//! The device's time by kernel, or by model part with the counted work.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ratatui::text::Line;

use super::state::RunState;
use crate::tui::{
    Cell, Cursor, Pane, PanelCommand, TableView, Theme, Tone, count, milliseconds, name_lines,
    paragraph, plain_number,
};
use tinyllama_base::{Align, Share, percent};
use tinyllama_contract::{Kernel, Kernels};
use tinyllama_runs::MetricUnit;
use tinyllama_tutor_core::PanelAction;

/// The sort values of a row: its name, time and launches.
type SortKey<'a> = (&'a str, f64, f64);

/// The key's description in the command bar, and the order of the rows.
type RowOrder = (&'static str, fn(&SortKey, &SortKey) -> Ordering);

/// Rows that compare as equal are ordered by name.
const ORDERS: [RowOrder; 3] = [
    ("sort by time", |a, b| b.1.total_cmp(&a.1)),
    ("sort by launches", |a, b| b.2.total_cmp(&a.2)),
    ("sort by name", |_, _| Ordering::Equal),
];

/// The selected view of the table.
#[derive(Clone, Debug, Default)]
pub struct KernelTableView {
    order: usize,
    /// Rows are model parts instead of kernels.
    by_part: bool,
    /// The kernel whose launches are listed by model part.
    open: Option<String>,
    cursor: Cursor,
}

impl KernelTableView {
    fn next_order(&self) -> usize {
        (self.order + 1) % ORDERS.len()
    }

    fn table(&self, state: &RunState) -> TableView {
        match (self.by_part, &state.kernels) {
            (true, _) => parts_table(state, self.order),
            (false, Some(kernels)) => {
                kernels_table(&folded(kernels, self.order, self.open.as_deref()))
            }
            (false, None) => TableView::default(),
        }
    }

    pub fn act(&mut self, action: PanelAction, state: &RunState) -> bool {
        match action {
            PanelAction::Sort => self.order = self.next_order(),
            PanelAction::Toggle => {
                self.by_part = !self.by_part;
                self.cursor.row = 0;
            }
            PanelAction::Select => return self.unfold(state),
            _ => return self.table(state).move_cursor(&mut self.cursor, action),
        }
        true
    }

    pub fn filter(&mut self, text: &str, state: &RunState) -> bool {
        self.table(state).filter(&mut self.cursor, text)
    }

    /// Shows the parts of the kernel under the cursor, or hides them again.
    fn unfold(&mut self, state: &RunState) -> bool {
        let Some(kernels) = state.kernels.as_ref().filter(|_| !self.by_part) else {
            return false;
        };
        let rows = folded(kernels, self.order, self.open.as_deref());
        let Some(row) = rows.get(self.cursor.row) else {
            return false;
        };
        let name = row.name.to_owned();
        let is_open = self.open.as_ref() == Some(&name);
        self.open = (!is_open).then_some(name.clone());
        let rows = folded(kernels, self.order, self.open.as_deref());
        self.cursor.row = rows.iter().position(|row| row.name == name).unwrap_or(0);
        true
    }

    /// Without a timed kernel and without counted parts there is no table, and no key of one.
    pub fn commands(&self, state: &RunState) -> Vec<PanelCommand> {
        if state.kernels.is_none() && state.parts.is_none() {
            return Vec::new();
        }
        let toggle = match self.by_part {
            true => "by kernel",
            false => "by part",
        };
        let mut commands = vec![
            (PanelAction::Toggle, toggle),
            (PanelAction::Sort, ORDERS[self.next_order()].0),
        ];
        if !self.by_part && state.kernels.is_some() {
            commands.insert(0, (PanelAction::Select, "its parts"));
        }
        commands
    }

    pub fn draw(&self, state: &RunState, mut pane: Pane) {
        pane.put(summary(state, pane.theme, pane.area.width));
        let table = self.table(state).with_cursor(&self.cursor);
        if !table.rows.is_empty() {
            let foot = name_lines(table.selected_name(), pane.area.width, pane.theme);
            let table = self.fitted(table, pane.width());
            let table = table.with_bars(pane.width(), pane.theme);
            table.draw_over(foot, u16::MAX, &mut pane);
        }
    }

    /// On a narrow screen, bars replace the column of parts, because Enter shows the parts.
    fn fitted(&self, mut table: TableView, wide: usize) -> TableView {
        if !self.by_part && wide < ROOMY {
            table.columns.remove(PART);
            table.rows.iter_mut().for_each(|row| drop(row.remove(PART)));
        }
        table
    }

    /// Draws the table without a caption and without a selected row, for the overview.
    pub fn draw_short(&self, state: &RunState, mut pane: Pane) {
        match &state.kernels {
            Some(kernels) => {
                let table = kernels_table(&folded(kernels, self.order, None));
                table.with_bars(pane.width(), pane.theme).draw(&mut pane);
            }
            None => pane.put(summary(state, pane.theme, pane.area.width)),
        }
    }
}

/// The column that the bars replace, and the width below which they do.
const PART: usize = 4;
const ROOMY: usize = 110;

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

fn compare(order: usize, a: SortKey, b: SortKey) -> Ordering {
    let (_, by) = ORDERS[order];
    by(&a, &b).then_with(|| a.0.cmp(b.0))
}

/// A kernel with all its launches, or the launches of one model part.
#[derive(Clone, Debug)]
struct KernelRow<'a> {
    name: &'a str,
    /// `None` for the whole kernel.
    part: Option<&'a str>,
    /// Model parts that launch it.
    parts: Vec<&'a str>,
    ms: Option<f64>,
    /// Share of the time of all kernels.
    share: Option<String>,
    launches: f64,
    fused: Option<f64>,
}

/// Every kernel once, summed over the model parts that launch it. The parts of `open` follow below it.
fn folded<'a>(kernels: &'a Kernels, order: usize, open: Option<&str>) -> Vec<KernelRow<'a>> {
    let total: f64 = kernels.kernels.iter().map(time_of).sum();
    let row = |name, part, of: &[&'a Kernel]| {
        let ms = of.iter().filter_map(|kernel| kernel.device_ms_per_step);
        let ms = ms.reduce(|a, b| a + b);
        let mut parts: Vec<&str> = of.iter().map(|kernel| kernel.part.as_str()).collect();
        parts.dedup();
        KernelRow {
            name,
            part,
            parts,
            ms,
            share: share(ms, total),
            launches: of.iter().map(|kernel| kernel.launches_per_step).sum(),
            fused: of
                .iter()
                .filter_map(|kernel| kernel.fused_operations)
                .reduce(f64::max),
        }
    };
    let mut of_name: BTreeMap<&str, Vec<&Kernel>> = BTreeMap::new();
    for kernel in &kernels.kernels {
        of_name.entry(&kernel.name).or_default().push(kernel);
    }
    let mut rows: Vec<KernelRow> = of_name
        .iter()
        .map(|(name, of)| row(name, None, of))
        .collect();
    let key =
        |row: &KernelRow<'a>| -> SortKey<'a> { (row.name, row.ms.unwrap_or(0.0), row.launches) };
    rows.sort_by(|a, b| compare(order, key(a), key(b)));
    let at = rows.iter().position(|row| Some(row.name) == open);
    if let Some((at, of)) = at.zip(open.and_then(|name| of_name.get(name))) {
        let mut of_part: BTreeMap<&str, Vec<&Kernel>> = BTreeMap::new();
        for kernel in of {
            of_part.entry(&kernel.part).or_default().push(kernel);
        }
        let name = rows[at].name;
        let parts = of_part.iter().map(|(part, of)| row(name, Some(*part), of));
        let mut parts: Vec<KernelRow> = parts.collect();
        parts.sort_by(|a, b| b.ms.unwrap_or(0.0).total_cmp(&a.ms.unwrap_or(0.0)));
        rows.splice(at + 1..at + 1, parts);
    }
    rows
}

fn kernels_table(rows: &[KernelRow]) -> TableView {
    let mut table = TableView::new(&[
        ("kernel", Align::Left),
        ("ms a step", Align::Right),
        ("share", Align::Right),
        ("launches", Align::Right),
        ("part", Align::Left),
        ("fused", Align::Right),
    ]);
    let fused = rows.iter().any(|row| row.fused.is_some());
    if !fused {
        table.columns.pop();
    }
    for row in rows {
        let name = match row.part {
            Some(part) => format!("  {part}"),
            None => row.name.to_owned(),
        };
        let part = match (row.part, row.parts.as_slice()) {
            (Some(_), _) => String::new(),
            (None, [part]) => (*part).to_owned(),
            (None, parts) => format!("{} parts", parts.len()),
        };
        let mut cells: Vec<Cell> = vec![
            name.into(),
            Cell::figure(row.ms.map(|ms| format!("{ms:.4}"))),
            Cell::figure(row.share.clone()),
            count(row.launches).into(),
            part.into(),
        ];
        if fused {
            cells.push(row.fused.map_or_else(|| "-".into(), |n| count(n).into()));
        }
        if row.part.is_some() {
            cells.iter_mut().for_each(|cell| cell.tone = Tone::Muted);
        }
        table.rows.push(cells);
        table.values.push(row.ms.unwrap_or(0.0));
    }
    table
}

fn share(ms: Option<f64>, total: f64) -> Option<String> {
    Some(percent(Share(ms.filter(|_| total > 0.0)? / total)))
}

#[derive(Default)]
struct PartRow {
    ms: Option<f64>,
    launches: Option<f64>,
    flops: Option<f64>,
    bytes: Option<f64>,
}

fn parts_table(state: &RunState, order: usize) -> TableView {
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
    let mut table = TableView::new(&[
        ("part of the model", Align::Left),
        ("ms a step", Align::Right),
        ("share", Align::Right),
        ("launches", Align::Right),
        ("FLOP counted", Align::Right),
        ("bytes counted", Align::Right),
        ("FLOP/byte", Align::Right),
    ]);
    for (name, row) in sorted {
        table.values.push(row.ms.unwrap_or(0.0));
        let intensity = row.flops.zip(row.bytes).filter(|(_, bytes)| *bytes > 0.0);
        table.rows.push(vec![
            name.into(),
            Cell::figure(row.ms.map(|ms| format!("{ms:.4}"))),
            Cell::figure(share(row.ms, total)),
            Cell::figure(row.launches.map(count)),
            Cell::figure(row.flops.map(plain_number)),
            Cell::figure(row.bytes.map(|bytes| MetricUnit::Bytes.show(bytes))),
            Cell::figure(intensity.map(|(flops, bytes)| format!("{:.2}", flops / bytes))),
        ]);
    }
    table
}
