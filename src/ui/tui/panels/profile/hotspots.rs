//! Lists kernels by the time they take, with short names, with full names, or split by launch shape.

use std::sync::Arc;

use itertools::Itertools;
use ratatui::text::{Line, Span};

use crate::tui::markdown::wrap::wrap;
use crate::tui::{
    Cell, Cursor, Pane, Panel, PanelCommand, Scroll, Snippet, TableView, Theme, Tone, grouped,
    name_lines,
};
use tinyllama_base::{Align, percent, plural, time};
use tinyllama_profile::name;
use tinyllama_profile::read::Import;
use tinyllama_profile::show::hotspots::{GroupBy, Hotspot, Hotspots, hotspots};
use tinyllama_profile::show::parts::KernelParts;
use tinyllama_tutor_core::PanelAction;

const GROUPS: [(&str, GroupBy); 3] = [
    ("short names", GroupBy::ShortName),
    ("full names", GroupBy::FullName),
    ("by launch shape", GroupBy::Variant),
];

/// Columns of the bar next to a share.
const BAR: usize = 8;

#[derive(Debug)]
pub struct HotspotTable {
    import: Arc<Import>,
    parts: KernelParts,
    group: usize,
    pub(super) found: Hotspots,
    cursor: Cursor,
    /// The position in the full names of the selected row, while they are open.
    names: Option<Scroll>,
}

impl HotspotTable {
    pub fn new(import: Arc<Import>, parts: KernelParts) -> Self {
        HotspotTable {
            group: 0,
            found: hotspots(&import.profile, GroupBy::ShortName, &parts),
            cursor: Cursor::default(),
            names: None,
            import,
            parts,
        }
    }

    fn next_group(&self) -> usize {
        (self.group + 1) % GROUPS.len()
    }

    /// Full names of the selected row's kernels. A short name can have several.
    fn full_names(&self) -> Vec<String> {
        let table = self.table(&Theme::default()).with_cursor(&self.cursor);
        let selected = table.selected_name();
        let all = hotspots(&self.import.profile, GroupBy::FullName, &self.parts).kernels;
        let names = all.into_iter().map(|kernel| kernel.name);
        let names = names.filter(|it| it == selected || name::short(it) == selected);
        names.unique().collect()
    }

    fn paint_names(&self, scroll: &Scroll, pane: &mut Pane) {
        let (names, theme) = (self.full_names(), pane.theme);
        pane.heading(&format!("Full name, {}", plural(names.len(), "kernel")));
        let width = usize::from(pane.area.width);
        let lines = names.into_iter().flat_map(|name| {
            let name = wrap(vec![Span::styled(name, theme.code())], width);
            name.into_iter().chain([Line::default()])
        });
        let lines: Vec<Line> = lines.collect();
        let first = scroll.first(lines.len(), usize::from(pane.area.height));
        pane.put(lines.into_iter().skip(first));
    }

    fn table(&self, theme: &Theme) -> TableView {
        let kernels = &self.found.kernels;
        let has = |what: fn(&Hotspot) -> bool| kernels.iter().any(what);
        let shapes = has(|kernel| kernel.variant.is_some());
        let parts = has(|kernel| kernel.part.is_some());
        let mut table = TableView::new(&[
            ("kernel", Align::Left),
            ("share", Align::Right),
            ("", Align::Left),
            ("total", Align::Right),
            ("calls", Align::Right),
            ("mean", Align::Right),
            ("min", Align::Right),
            ("max", Align::Right),
        ]);
        if shapes {
            let more = ["workgroup", "grid", "VGPRs"].map(|title| (title.to_owned(), Align::Right));
            table.columns.extend(more);
        }
        if parts {
            table
                .columns
                .push(("part of the model".into(), Align::Left));
        }
        let runs = !self.found.runs.is_empty();
        if runs {
            table.columns.insert(1, ("run".into(), Align::Left));
        }
        let longest = kernels
            .iter()
            .map(|kernel| kernel.percent.0)
            .fold(0.0, f64::max);
        for kernel in kernels {
            let share = kernel.percent.0 / longest.max(1e-9);
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
            if runs {
                row.insert(1, kernel.run.as_deref().unwrap_or("").into());
            }
            if shapes {
                let variant = kernel.variant.as_ref();
                let workgroup = variant.and_then(|variant| variant.workgroup);
                let workgroup = workgroup.map(|sizes| axes(sizes.map(u64::from)));
                let grid = variant.and_then(|variant| variant.grid).map(axes);
                let registers = variant.and_then(|variant| variant.vgpr);
                let registers = registers.map(|count| count.to_string());
                row.extend([workgroup, grid, registers].map(Cell::figure));
            }
            if parts {
                row.push(kernel.part.as_deref().unwrap_or("").into());
            }
            table.rows.push(row);
        }
        table
    }
}

impl Panel for HotspotTable {
    fn paint(&self, pane: &mut Pane) {
        if let Some(scroll) = &self.names {
            return self.paint_names(scroll, pane);
        }
        let (found, theme) = (&self.found, pane.theme);
        let mut title = format!("{} on the device in all", time(found.total_ns));
        if found.from_summary {
            title.push_str(", from a summary");
        }
        for process in &found.summarised {
            title.push_str(&format!(", of {process} from a summary"));
        }
        if found.untimed > 0 {
            title.push_str(&format!("; {} launches have no time", found.untimed));
        }
        pane.heading(&title);
        let table = self.table(theme).with_cursor(&self.cursor);
        let foot = name_lines(table.selected_name(), pane.area.width, theme);
        table.draw_over(foot, pane.area.height / 3, pane);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        if action == PanelAction::Select {
            self.names = match self.names {
                Some(_) => None,
                None => Some(Scroll::default()).filter(|_| !self.found.kernels.is_empty()),
            };
            return true;
        }
        if let Some(scroll) = &self.names {
            return scroll.act(action, scroll.page());
        }
        if action != PanelAction::Toggle {
            let table = self.table(&Theme::default());
            return table.move_cursor(&mut self.cursor, action);
        }
        self.group = self.next_group();
        let (_, group) = GROUPS[self.group];
        self.found = hotspots(&self.import.profile, group, &self.parts);
        self.cursor = Cursor::default();
        true
    }

    fn filter(&mut self, text: &str) -> bool {
        self.names = None;
        let table = self.table(&Theme::default());
        table.filter(&mut self.cursor, text)
    }

    fn copies(&self) -> Vec<Snippet> {
        self.table(&Theme::default())
            .with_cursor(&self.cursor)
            .copies()
    }

    fn commands(&self) -> Vec<PanelCommand> {
        if self.names.is_some() {
            return vec![(PanelAction::Select, "close the name")];
        }
        vec![
            (PanelAction::Sort, "sort"),
            (PanelAction::Toggle, GROUPS[self.next_group()].0),
            (PanelAction::Select, "full name"),
        ]
    }

    fn hidden(&self) -> (usize, usize) {
        self.names.as_ref().map_or((0, 0), Scroll::hidden)
    }
}

/// Sizes as `64` or `16x16`, without trailing axes of size one.
fn axes(sizes: [u64; 3]) -> String {
    let used = match sizes {
        [_, 1, 1] => 1,
        [_, _, 1] => 2,
        _ => 3,
    };
    itertools::join(&sizes[..used], "x")
}
