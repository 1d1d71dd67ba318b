//! Runs side by side, each held against the first: medians, spread, ratios with what may be said about them.

mod bars;
mod figures;
#[cfg(test)]
mod tests;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::table::Table;
use super::text::{keep_to_character_set, paragraph, put};
use crate::analysis::{Measurements, Metric};
use crate::tui::panel::{Panel, PanelAction, PanelCommand};
use crate::tui::theme::Theme;

/// One of the things compared.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    pub label: String,
    /// Runs of the same thing, in the order they were made; with three or more their medians are compared.
    pub repeats: Vec<Measurements>,
    /// Where and when they were recorded; none where they were made here.
    pub recorded: Option<String>,
}

/// Shown where a lesson names none.
const USUAL_METRICS: [Metric; 9] = [
    Metric::TotalMs,
    Metric::ForwardMs,
    Metric::BackwardMs,
    Metric::OptimizerMs,
    Metric::SamplesPerS,
    Metric::LaunchesPerStep,
    Metric::PeakBytesInUse,
    Metric::FinalLoss,
    Metric::ParametersWithGradient,
];

/// Rows a page goes by.
const PAGE: usize = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Figures,
    Steps,
}

#[derive(Clone, Debug)]
pub struct ComparePanel {
    runs: Vec<ComparedRun>,
    metrics: Vec<Metric>,
    section: Section,
    selected: usize,
    /// Columns scrolled past.
    shift: usize,
}

impl ComparePanel {
    /// The first run is what the others are held against. Without metrics, the usual ones are shown.
    pub fn new(runs: Vec<ComparedRun>, metrics: Vec<Metric>) -> Self {
        let metrics = if metrics.is_empty() {
            USUAL_METRICS.to_vec()
        } else {
            metrics
        };
        ComparePanel {
            runs,
            metrics,
            section: Section::default(),
            selected: 0,
            shift: 0,
        }
    }

    fn table(&self, theme: &Theme) -> Table {
        let mut table = figures::table(&self.runs, &self.metrics, theme);
        table.selected = Some(self.selected.min(self.metrics.len().saturating_sub(1)));
        table.shift = self.shift;
        table
    }

    fn detail(&self, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
        let metric = self.metrics.get(self.selected).or(self.metrics.last());
        metric.map_or_else(Vec::new, |metric| {
            figures::detail(&self.runs, *metric, wide, theme)
        })
    }
}

impl Panel for ComparePanel {
    fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let area = area.intersection(buffer.area);
        if self.runs.iter().all(|run| run.repeats.is_empty()) {
            let text = "There is no run to compare yet.";
            put(paragraph(text, area.width, theme.muted()), area, buffer);
            return;
        }
        let area = put(
            figures::origins(&self.runs, area.width, theme),
            area,
            buffer,
        );
        let table = self.table(theme);
        let detail = self.detail(area.width, theme);
        let bars = bars::lines(&self.runs, area.width, theme);
        let all = usize::from(table.height()) + detail.len() + bars.len() + 2;
        let blank = || [Line::default()];
        if usize::from(area.height) >= all {
            let rest = put(bars.into_iter().chain(blank()), area, buffer);
            let rest = draw_table(&table, rest, buffer, theme);
            put(blank().into_iter().chain(detail), rest, buffer);
        } else if self.section == Section::Steps {
            put(bars, area, buffer);
        } else {
            // The table keeps some rows however much there is to say about one of them.
            let least = area.height.min(table.height()).min(6);
            let room = usize::from(area.height - least);
            let detail: Vec<Line> = detail.into_iter().take(room).collect();
            let height = area.height - detail.len() as u16;
            let upper = Rect { height, ..area };
            let rest = draw_table(&table, upper, buffer, theme);
            let lower = Rect {
                y: rest.y,
                height: area.bottom() - rest.y,
                ..area
            };
            put(detail, lower, buffer);
        }
        keep_to_character_set(area, buffer, theme);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let before = (self.section, self.selected, self.shift);
        let last = self.metrics.len().saturating_sub(1);
        match action {
            PanelAction::Up => self.selected = self.selected.saturating_sub(1),
            PanelAction::Down => self.selected = (self.selected + 1).min(last),
            PanelAction::PageUp => self.selected = self.selected.saturating_sub(PAGE),
            PanelAction::PageDown => self.selected = (self.selected + PAGE).min(last),
            PanelAction::Top => self.selected = 0,
            PanelAction::Bottom => self.selected = last,
            PanelAction::Left => self.shift = self.shift.saturating_sub(1),
            PanelAction::Right => {
                let columns = (2 * self.runs.len()).saturating_sub(1);
                self.shift = (self.shift + 1).min(columns.saturating_sub(1));
            }
            PanelAction::NextSection | PanelAction::PreviousSection => {
                self.section = match self.section {
                    Section::Figures => Section::Steps,
                    Section::Steps => Section::Figures,
                };
            }
            PanelAction::Sort | PanelAction::Toggle | PanelAction::Select => {}
        }
        before != (self.section, self.selected, self.shift)
    }

    fn commands(&self) -> Vec<PanelCommand> {
        let other = match self.section {
            Section::Figures => "steps as bars",
            Section::Steps => "figures",
        };
        vec![
            PanelCommand::new(PanelAction::NextSection, other),
            PanelCommand::new(PanelAction::Down, "next figure"),
        ]
    }
}

/// Returns what is below it.
fn draw_table(table: &Table, area: Rect, buffer: &mut Buffer, theme: &Theme) -> Rect {
    let height = area.height.min(table.height());
    table.render(Rect { height, ..area }, buffer, theme);
    Rect {
        y: area.y + height,
        height: area.height - height,
        ..area
    }
}
