//! Shows the kernels of this project: what each does, the bytes it must move, its options, and its source.

mod sources;
#[cfg(test)]
mod tests;

use ratatui::prelude::{Constraint, Line, Span};
use tinyllama_kernel_catalog::KernelDescriptor;

pub use self::sources::{KernelEntry, SourceFile, kernels};

use crate::tui::{
    Cursor, Handler, KeyBinding, Pane, Panel, PanelCommand, Scroll, TableView, Tabs, Theme,
    hanging, paragraph, width,
};
use tinyllama_base::Align;
use tinyllama_tutor_core::{Action, PanelAction};

pub const PANEL: KeyBinding = (
    Action::Panel("kernels"),
    "K",
    "kernels of this project",
    Handler::Any(|model| model.open(KernelsPanel::new(kernels()))),
);

/// Rows that a page key moves by.
const PAGE: usize = 15;

/// Columns of the list next to a kernel.
const LIST: u16 = 18;

/// Indices of the sections among the tabs.
const LIST_OF_ALL: usize = 0;
const ABOUT: usize = 1;
const SOURCE: usize = 2;
const SECTIONS: usize = 3;

#[derive(Clone, Debug, Default)]
pub struct KernelsPanel {
    kernels: Vec<KernelEntry>,
    section: Tabs,
    cursor: Cursor,
    file: usize,
    scroll: Scroll,
}

impl KernelsPanel {
    pub fn new(kernels: Vec<KernelEntry>) -> Self {
        KernelsPanel {
            kernels,
            ..KernelsPanel::default()
        }
    }

    fn kernel(&self) -> Option<&KernelEntry> {
        self.kernels.get(self.cursor.row)
    }

    fn source(&self) -> Option<&SourceFile> {
        self.kernel()?.files.get(self.file)
    }

    fn list_table(&self) -> TableView {
        let mut table = TableView::new(&[
            ("kernel", Align::Left),
            ("what it does", Align::Left),
            ("launches", Align::Left),
        ]);
        for KernelEntry { kernel, .. } in &self.kernels {
            let cells = [kernel.name, kernel.summary, kernel.launches];
            table.rows.push(cells.map(Into::into).into());
        }
        table.folded().with_cursor(&self.cursor)
    }

    /// Lists the names only, for the column next to a kernel.
    fn names(&self, mut pane: Pane) {
        let (theme, selected) = (pane.theme, self.cursor.row);
        let room = usize::from(pane.area.height).max(1);
        let kernels = self.kernels.iter().enumerate();
        let names = kernels.skip(selected.saturating_sub(room - 1));
        pane.put(names.map(|(at, kernel)| {
            let (mark, style) = match at == selected {
                true => (theme.glyphs.here, theme.accent()),
                false => (" ", theme.muted()),
            };
            Line::styled(format!("{mark} {}", kernel.kernel.name), style)
        }));
    }

    /// Describes what the kernel does, what it costs, and its options.
    fn facts(kernel: &KernelDescriptor, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = paragraph(kernel.summary, wide, theme.text());
        let launches = format!("launches: {}", kernel.launches);
        lines.extend(paragraph(&launches, wide, theme.muted()));
        lines.push(Line::default());
        let heading = "Bytes and FLOP of a perfect launch";
        lines.push(Line::styled(heading, theme.emphasis()));
        for pass in kernel.passes {
            let [reads, writes, flops] = pass.formulas.map(|formula| formula.replace(" * ", " · "));
            let name = pass.name;
            let text = format!("{name}: reads {reads} bytes, writes {writes}, {flops} FLOP");
            lines.extend(paragraph(&text, wide, theme.code()));
        }
        let with = format!("with {}", kernel.shape);
        lines.extend(paragraph(&with, wide, theme.muted()));
        lines.push(Line::default());
        let heading = match kernel.block_size {
            Some(_) => "Block sizes to choose",
            None => "Block sizes",
        };
        lines.push(Line::styled(heading, theme.emphasis()));
        let names = kernel.block.iter().map(|[name, _]| width(name));
        let longest = names.max().unwrap_or(0);
        for [name, means] in kernel.block {
            let name = format!("{name:<longest$}");
            let first = vec![Span::styled(name, theme.code()), Span::raw("  ")];
            let below = Span::raw(" ".repeat(longest + 2));
            lines.extend(hanging(first, below, vec![Span::raw(*means)], wide.into()));
        }
        if kernel.block_size.is_some() {
            let try_it = format!("run v3 --block-size {}=N tries another size", kernel.name);
            lines.extend(paragraph(&try_it, wide, theme.muted()));
        }
        lines
    }

    /// The facts, and the description in the source itself.
    fn about(entry: &KernelEntry, pane: &Pane) -> Vec<Line<'static>> {
        let mut lines = vec![Line::styled(entry.kernel.name, pane.theme.heading())];
        lines.extend(Self::facts(entry.kernel, pane.area.width, pane.theme));
        let about = entry.about();
        if !about.is_empty() {
            lines.push(Line::default());
            lines.extend(pane.markdown(&about));
        }
        lines
    }

    fn draw_source(&self, entry: &KernelEntry, mut pane: Pane) {
        let theme = pane.theme;
        let Some(file) = self.source() else {
            return pane.remark("The sources of this kernel are not in this program.");
        };
        let lines: Vec<Line> = match pane.highlighter {
            Some(highlighter) => highlighter.lines(&file.text, file.language, theme),
            None => {
                let lines = file.text.lines();
                lines.map(|line| Line::raw(line.to_owned())).collect()
            }
        };
        let title = |from: usize, to: usize| {
            format!(
                "{}/{}  file {} of {}, lines {from} to {to} of {}",
                entry.kernel.name,
                file.name,
                self.file + 1,
                entry.files.len(),
                lines.len()
            )
        };
        let longest = title(lines.len(), lines.len());
        let head = paragraph(&longest, pane.area.width, theme.text()).len();
        let room = usize::from(pane.area.height).saturating_sub(head);
        let first = self.scroll.first(lines.len(), room);
        pane.heading(&title(first + 1, (first + room).min(lines.len())));
        let digits = lines.len().to_string().len();
        let numbered = lines.into_iter().enumerate().skip(first).map(|(at, line)| {
            let mut spans = vec![Span::styled(format!("{:>digits$} ", at + 1), theme.muted())];
            spans.extend(line.spans);
            Line::from(spans)
        });
        pane.put(numbered);
    }

    fn turn_file(&mut self, forwards: bool) -> bool {
        let files = self.kernel().map_or(0, |kernel| kernel.files.len()).max(1);
        self.file = (self.file + if forwards { 1 } else { files - 1 }) % files;
        self.scroll = Scroll::default();
        true
    }

    fn choose(&mut self, action: PanelAction) -> bool {
        let table = self.list_table();
        let moved = table.move_cursor(&mut self.cursor, action);
        if moved {
            self.file = 0;
            self.scroll = Scroll::default();
        }
        moved
    }

    fn turn(&mut self, action: PanelAction) -> bool {
        self.scroll = Scroll::default();
        self.section.act(action, SECTIONS)
    }
}

impl Panel for KernelsPanel {
    fn title(&self) -> String {
        "Kernels".into()
    }

    fn paint(&self, pane: &mut Pane) {
        let Some(kernel) = self.kernel() else {
            return pane.remark("There is no kernel to show.");
        };
        let (area, section) = (pane.area, self.section.at);
        if section == LIST_OF_ALL {
            let table = self.list_table();
            let mut facts = vec![Line::default()];
            facts.extend(Self::facts(kernel.kernel, area.width, pane.theme));
            let listed = table.height(area.width.into());
            return table.draw_over(facts, area.height.saturating_sub(listed), pane);
        }
        let mut body = area;
        if area.width >= 100 {
            let columns = [LIST, 1, area.width - LIST - 1].map(Constraint::Length);
            let [names, _, rest] = pane.columns(columns);
            self.names(pane.sub_pane(names));
            body = rest;
        }
        let mut pane = pane.sub_pane(body);
        if section == SOURCE {
            return self.draw_source(kernel, pane);
        }
        let lines = Self::about(kernel, &pane);
        let first = self.scroll.first(lines.len(), body.height.into());
        pane.put(lines.into_iter().skip(first));
    }

    fn act(&mut self, action: PanelAction) -> bool {
        match (action, self.section.at) {
            (PanelAction::NextSection | PanelAction::PreviousSection, _) => self.turn(action),
            (PanelAction::Select, LIST_OF_ALL | ABOUT) => self.turn(PanelAction::NextSection),
            (PanelAction::Toggle | PanelAction::Right, SOURCE) => self.turn_file(true),
            (PanelAction::Left, SOURCE) => self.turn_file(false),
            (PanelAction::Right, ABOUT) => self.choose(PanelAction::Down),
            (PanelAction::Left, ABOUT) => self.choose(PanelAction::Up),
            (_, LIST_OF_ALL) => self.choose(action),
            _ => self.scroll.act(action, PAGE),
        }
    }

    fn filter(&mut self, text: &str) -> bool {
        self.section = Tabs::default();
        self.list_table().filter(&mut self.cursor, text)
    }

    fn commands(&self) -> Vec<PanelCommand> {
        match self.section.at {
            LIST_OF_ALL => vec![
                (PanelAction::Select, "about it"),
                (PanelAction::PreviousSection, "source"),
                (PanelAction::Sort, "sort"),
            ],
            ABOUT => vec![
                (PanelAction::Select, "source"),
                (PanelAction::Right, "next kernel"),
                (PanelAction::PreviousSection, "list"),
            ],
            _ => vec![
                (PanelAction::Toggle, "next file"),
                (PanelAction::NextSection, "list"),
            ],
        }
    }
}
