//! Kernels by the time they take, under names short or full or split by launch shape.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Place;
use crate::base::table::Align;
use crate::base::units::{percent, time};
use crate::profiler::model::Profile;
use crate::profiler::show::hotspots::{GroupBy, Hotspot, Hotspots, hotspots};
use crate::profiler::show::parts::Parts;
use crate::tui::panels::table::{Cell, Table, Tone};
use crate::tui::panels::text::{cut, grouped, put, wrap};
use crate::tui::theme::Theme;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    #[default]
    Time,
    Calls,
    Mean,
    Name,
}

/// Columns of the bar beside a share.
const BAR: usize = 8;

/// Lines for the whole name of the selected kernel; names of templates go on for kilobytes.
const NAME_LINES: usize = 3;

#[derive(Debug)]
pub struct HotspotTable {
    group: GroupBy,
    order: Order,
    pub(super) found: Hotspots,
}

impl HotspotTable {
    /// Most columns a table has.
    pub const COLUMNS: usize = 12;

    pub fn new(profile: &Profile, parts: &Parts) -> Self {
        HotspotTable {
            group: GroupBy::ShortName,
            order: Order::default(),
            found: hotspots(profile, GroupBy::ShortName, parts),
        }
    }

    pub fn len(&self) -> usize {
        self.found.kernels.len()
    }

    pub fn sort_next(&mut self) {
        self.order = next(self.order);
        self.sort();
    }

    pub fn next_order(&self) -> &'static str {
        match next(self.order) {
            Order::Time => "sort by time",
            Order::Calls => "sort by calls",
            Order::Mean => "sort by mean",
            Order::Name => "sort by name",
        }
    }

    pub fn group_next(&mut self, profile: &Profile, parts: &Parts) {
        self.group = grouped_next(self.group);
        self.found = hotspots(profile, self.group, parts);
        self.sort();
    }

    pub fn next_group(&self) -> &'static str {
        match grouped_next(self.group) {
            GroupBy::ShortName => "short names",
            GroupBy::FullName => "full names",
            GroupBy::Variant => "by launch shape",
        }
    }

    fn sort(&mut self) {
        let order = self.order;
        self.found.kernels.sort_by(|a, b| {
            let by_name = || a.name.cmp(&b.name);
            match order {
                Order::Time => b.total_ns.total_cmp(&a.total_ns).then_with(by_name),
                Order::Calls => b.calls.cmp(&a.calls).then_with(by_name),
                Order::Mean => b.mean_ns().total_cmp(&a.mean_ns()).then_with(by_name),
                Order::Name => by_name(),
            }
        });
    }

    pub fn render(&self, place: Place, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let found = &self.found;
        let mut title = format!("{} on the device in all", time(found.total_ns));
        if found.from_summary {
            title.push_str(", from the profiler's own summary");
        }
        if found.untimed > 0 {
            title.push_str(&format!("; {} launches have no time", found.untimed));
        }
        let title = cut(&title, usize::from(area.width), theme);
        let rest = put([Line::styled(title, theme.emphasis())], area, buffer);
        let mut table = self.table(theme);
        let selected = place.row.min(table.rows.len().saturating_sub(1));
        table.selected = Some(selected);
        table.shift = place.shift;
        let name = found
            .kernels
            .get(selected)
            .map_or("", |kernel| &kernel.name);
        let foot: Vec<Line> = wrap(name, usize::from(area.width))
            .into_iter()
            .take(NAME_LINES)
            .map(|line| Line::styled(line, theme.code()))
            .collect();
        let foot_height = (foot.len() as u16 + 1).min(rest.height / 3);
        let height = (rest.height - foot_height).min(table.height());
        table.render(Rect { height, ..rest }, buffer, theme);
        let below = Rect {
            y: rest.y + height,
            height: rest.height - height,
            ..rest
        };
        put([Line::default()].into_iter().chain(foot), below, buffer);
    }

    fn table(&self, theme: &Theme) -> Table {
        let kernels = &self.found.kernels;
        let has = |what: fn(&Hotspot) -> bool| kernels.iter().any(what);
        let shapes = has(|kernel| kernel.variant.is_some());
        let parts = has(|kernel| kernel.part.is_some());
        let mut table = Table::new(&[
            ("kernel", Align::Left),
            ("share", Align::Right),
            ("", Align::Left),
            ("total", Align::Right),
            ("calls", Align::Right),
            ("mean", Align::Right),
            ("min", Align::Right),
            ("max", Align::Right),
        ]);
        let mut more = Vec::new();
        if shapes {
            more.extend(["workgroup", "grid", "VGPRs"]);
        }
        let right = more
            .into_iter()
            .map(|title| (title.to_owned(), Align::Right));
        table.columns.extend(right);
        if parts {
            table
                .columns
                .push(("part of the model".into(), Align::Left));
        }
        let longest = kernels
            .iter()
            .map(|kernel| kernel.percent)
            .fold(0.0, f64::max);
        for kernel in kernels {
            let share = kernel.percent / longest.max(1e-9);
            let bar = theme.glyphs.bar[0].repeat((share * BAR as f64).round() as usize);
            let mut row = vec![
                Cell::from(kernel.name.as_str()),
                percent(kernel.percent).into(),
                Cell::new(bar, Tone::Emphasis),
                time(kernel.total_ns).into(),
                grouped(kernel.calls).into(),
                time(kernel.mean_ns()).into(),
                Cell::figure(kernel.min_ns.map(time)),
                Cell::figure(kernel.max_ns.map(time)),
            ];
            if shapes {
                let variant = kernel.variant.as_ref();
                let workgroup = variant.and_then(|variant| variant.workgroup);
                row.push(Cell::figure(
                    workgroup.map(|sizes| axes(sizes.map(u64::from))),
                ));
                row.push(Cell::figure(
                    variant.and_then(|variant| variant.grid).map(axes),
                ));
                let registers = variant.and_then(|variant| variant.vgpr);
                row.push(Cell::figure(registers.map(|count| count.to_string())));
            }
            if parts {
                row.push(kernel.part.as_deref().unwrap_or("").into());
            }
            table.rows.push(row);
        }
        table
    }
}

fn next(order: Order) -> Order {
    match order {
        Order::Time => Order::Calls,
        Order::Calls => Order::Mean,
        Order::Mean => Order::Name,
        Order::Name => Order::Time,
    }
}

fn grouped_next(group: GroupBy) -> GroupBy {
    match group {
        GroupBy::ShortName => GroupBy::FullName,
        GroupBy::FullName => GroupBy::Variant,
        GroupBy::Variant => GroupBy::ShortName,
    }
}

/// `64`, `16x16`, without axes of one at the end.
fn axes(sizes: [u64; 3]) -> String {
    let used = match sizes {
        [_, 1, 1] => 1,
        [_, _, 1] => 2,
        _ => 3,
    };
    let words: Vec<String> = sizes.iter().take(used).map(u64::to_string).collect();
    words.join("x")
}
