//! The kernels of this project: what each does and must move, what can be chosen, and its source.

mod embedded;
mod entry;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

pub use self::embedded::kernels;
pub use self::entry::{KernelEntry, PassCost, SourceFile, Tunable};

use super::table::Table;
use super::text::{cut, keep_to_character_set, paragraph, put, width};
use crate::base::table::Align;
use crate::tui::highlight::Highlighter;
use crate::tui::markdown;
use crate::tui::panel::{Panel, PanelAction, PanelCommand};
use crate::tui::theme::Theme;

/// Rows a page goes by.
const PAGE: usize = 15;

/// Columns of the list beside a kernel.
const LIST: u16 = 18;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    List,
    About,
    Source,
}

#[derive(Clone, Debug)]
pub struct KernelsPanel {
    kernels: Vec<KernelEntry>,
    highlighter: Option<Arc<Highlighter>>,
    section: Section,
    selected: usize,
    file: usize,
    scroll: usize,
}

impl KernelsPanel {
    pub fn new(kernels: Vec<KernelEntry>) -> Self {
        KernelsPanel {
            kernels,
            highlighter: None,
            section: Section::default(),
            selected: 0,
            file: 0,
            scroll: 0,
        }
    }

    /// Colours for sources, once there are some.
    pub fn set_highlighter(&mut self, highlighter: Arc<Highlighter>) {
        self.highlighter = Some(highlighter);
    }

    fn kernel(&self) -> Option<&KernelEntry> {
        self.kernels.get(self.selected)
    }

    fn source(&self) -> Option<&SourceFile> {
        self.kernel()?.files.get(self.file)
    }

    fn list_table(&self) -> Table {
        let mut table = Table::new(&[
            ("kernel", Align::Left),
            ("launches", Align::Left),
            ("what it does", Align::Left),
        ]);
        for kernel in &self.kernels {
            table.rows.push(vec![
                kernel.name.as_str().into(),
                kernel.launches.as_str().into(),
                kernel.summary.as_str().into(),
            ]);
        }
        table.selected = (!self.kernels.is_empty()).then_some(self.selected);
        table
    }

    /// Names only, for beside a kernel.
    fn names(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let room = usize::from(area.height).max(1);
        let first = self.selected.saturating_sub(room - 1);
        let lines = self
            .kernels
            .iter()
            .enumerate()
            .skip(first)
            .map(|(at, kernel)| {
                let here = at == self.selected;
                let mark = if here { theme.glyphs.here } else { " " };
                let style = if here { theme.accent() } else { theme.muted() };
                Line::styled(format!("{mark} {}", kernel.name), style)
            });
        put(lines, area, buffer);
    }

    /// What it does, costs and lets one choose.
    fn facts(kernel: &KernelEntry, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = paragraph(&kernel.summary, wide, theme.text());
        let launches = format!("launches: {}", kernel.launches);
        lines.extend(paragraph(&launches, wide, theme.muted()));
        lines.push(Line::default());
        let heading = "What a perfect launch moves and computes";
        lines.push(Line::styled(heading, theme.emphasis()));
        for cost in &kernel.costs {
            let text = format!("{}: {} bytes, {} FLOP", cost.pass, cost.bytes, cost.flops);
            lines.extend(paragraph(&text, wide, theme.code()));
        }
        let with = format!("with {}", kernel.shape);
        lines.extend(paragraph(&with, wide, theme.muted()));
        lines.push(Line::default());
        lines.push(Line::styled("What can be chosen", theme.emphasis()));
        for tunable in &kernel.tunables {
            let wide = usize::from(wide);
            let name = tunable.name.clone();
            let means = cut(&tunable.means, wide.saturating_sub(width(&name) + 2), theme);
            lines.push(Line::from(vec![
                Span::styled(name, theme.code()),
                Span::raw(format!("  {means}")),
            ]));
        }
        let try_it = format!("run v3 --block-size {}=N tries another size", kernel.name);
        lines.extend(paragraph(&try_it, wide, theme.muted()));
        lines
    }

    /// The facts, and what the source says of itself.
    fn about(&self, kernel: &KernelEntry, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = vec![Line::styled(kernel.name.clone(), theme.heading())];
        lines.extend(Self::facts(kernel, wide, theme));
        let about = kernel.about();
        if !about.is_empty() {
            lines.push(Line::default());
            let highlighter = self.highlighter.as_deref();
            lines.extend(markdown::render(&about, wide, theme, highlighter));
        }
        lines
    }

    fn draw_source(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let (Some(kernel), Some(file)) = (self.kernel(), self.source()) else {
            let text = "The sources of this kernel are not in this program.";
            put([Line::styled(text, theme.muted())], area, buffer);
            return;
        };
        let lines: Vec<Line> = match &self.highlighter {
            Some(highlighter) => highlighter.lines(&file.text, &file.language, theme),
            None => file
                .text
                .lines()
                .map(|line| Line::raw(line.to_owned()))
                .collect(),
        };
        let room = usize::from(area.height).saturating_sub(1);
        let first = self.scroll.min(lines.len().saturating_sub(room));
        let title = format!(
            "{}/{}  file {} of {}, lines {} to {} of {}",
            kernel.name,
            file.name,
            self.file + 1,
            kernel.files.len(),
            first + 1,
            (first + room).min(lines.len()),
            lines.len()
        );
        let title = cut(&title, usize::from(area.width), theme);
        let rest = put([Line::styled(title, theme.emphasis())], area, buffer);
        let digits = lines.len().to_string().len();
        let numbered = lines.into_iter().enumerate().skip(first).map(|(at, line)| {
            let mut spans = vec![Span::styled(format!("{:>digits$} ", at + 1), theme.muted())];
            spans.extend(line.spans);
            Line::from(spans)
        });
        put(numbered, rest, buffer);
    }

    /// Lines that can be scrolled through.
    fn length(&self) -> usize {
        match self.section {
            Section::Source => self.source().map_or(0, |file| file.text.lines().count()),
            Section::About => self
                .kernel()
                .map_or(0, |kernel| kernel.about().lines().count() + 20),
            Section::List => 0,
        }
    }

    fn select(&mut self, kernel: usize) {
        self.selected = kernel.min(self.kernels.len().saturating_sub(1));
        self.file = 0;
        self.scroll = 0;
    }

    fn turn_file(&mut self, forwards: bool) {
        let files = self.kernel().map_or(0, |kernel| kernel.files.len()).max(1);
        self.file = (self.file + if forwards { 1 } else { files - 1 }) % files;
        self.scroll = 0;
    }

    fn scroll_by(&mut self, action: PanelAction) {
        let last = self.length().saturating_sub(1);
        self.scroll = match action {
            PanelAction::Up => self.scroll.saturating_sub(1),
            PanelAction::Down => self.scroll + 1,
            PanelAction::PageUp => self.scroll.saturating_sub(PAGE),
            PanelAction::PageDown => self.scroll + PAGE,
            PanelAction::Top => 0,
            PanelAction::Bottom => last,
            _ => self.scroll,
        }
        .min(last);
    }

    fn choose(&mut self, action: PanelAction) {
        let at = match action {
            PanelAction::Up => self.selected.saturating_sub(1),
            PanelAction::Down => self.selected + 1,
            PanelAction::PageUp | PanelAction::Top => 0,
            PanelAction::PageDown | PanelAction::Bottom => usize::MAX,
            _ => self.selected,
        };
        self.select(at);
    }
}

impl Panel for KernelsPanel {
    fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let area = area.intersection(buffer.area);
        let Some(kernel) = self.kernel() else {
            let text = "There is no kernel to show.";
            put([Line::styled(text, theme.muted())], area, buffer);
            return;
        };
        let beside = self.section != Section::List && area.width >= 100;
        let body = if beside {
            let list = Rect {
                width: LIST,
                ..area
            };
            self.names(list, buffer, theme);
            Rect {
                x: area.x + LIST + 1,
                width: area.width - LIST - 1,
                ..area
            }
        } else {
            area
        };
        match self.section {
            Section::List => {
                let table = self.list_table();
                let height = table.height().min(body.height);
                table.render(Rect { height, ..body }, buffer, theme);
                let below = Rect {
                    y: body.y + height,
                    height: body.height - height,
                    ..body
                };
                let facts = Self::facts(kernel, body.width, theme);
                put([Line::default()].into_iter().chain(facts), below, buffer);
            }
            Section::About => {
                let lines = self.about(kernel, body.width, theme);
                let first = self
                    .scroll
                    .min(lines.len().saturating_sub(usize::from(body.height)));
                put(lines.into_iter().skip(first), body, buffer);
            }
            Section::Source => self.draw_source(body, buffer, theme),
        }
        keep_to_character_set(area, buffer, theme);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let before = (self.section, self.selected, self.file, self.scroll);
        match (action, self.section) {
            (PanelAction::NextSection, _) => {
                self.section = match self.section {
                    Section::List => Section::About,
                    Section::About => Section::Source,
                    Section::Source => Section::List,
                };
                self.scroll = 0;
            }
            (PanelAction::PreviousSection, _) => {
                self.section = match self.section {
                    Section::List => Section::Source,
                    Section::About => Section::List,
                    Section::Source => Section::About,
                };
                self.scroll = 0;
            }
            (PanelAction::Select, Section::List) => self.section = Section::About,
            (PanelAction::Select, Section::About) => {
                self.section = Section::Source;
                self.scroll = 0;
            }
            (PanelAction::Toggle | PanelAction::Right, Section::Source) => self.turn_file(true),
            (PanelAction::Left, Section::Source) => self.turn_file(false),
            (PanelAction::Right, Section::About) => self.choose(PanelAction::Down),
            (PanelAction::Left, Section::About) => self.choose(PanelAction::Up),
            (_, Section::List) => self.choose(action),
            _ => self.scroll_by(action),
        }
        before != (self.section, self.selected, self.file, self.scroll)
    }

    fn commands(&self) -> Vec<PanelCommand> {
        match self.section {
            Section::List => vec![
                PanelCommand::new(PanelAction::Select, "about it"),
                PanelCommand::new(PanelAction::PreviousSection, "source"),
            ],
            Section::About => vec![
                PanelCommand::new(PanelAction::Select, "source"),
                PanelCommand::new(PanelAction::Right, "next kernel"),
                PanelCommand::new(PanelAction::PreviousSection, "list"),
            ],
            Section::Source => vec![
                PanelCommand::new(PanelAction::Toggle, "next file"),
                PanelCommand::new(PanelAction::NextSection, "list"),
            ],
        }
    }
}
