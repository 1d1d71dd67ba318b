//! Runs side by side, each held against the first: medians, spread, ratios with what may be said about them.

mod bars;
mod figures;
#[cfg(test)]
mod tests;

use std::cell::Cell;

use ratatui::text::Line;

use crate::analysis::{Measurements, Metric};
use crate::tui::{Command, Cursor, Pane, Panel, PanelAction, Table, Tabs, Theme};

/// One of the things compared.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    pub label: String,
    /// Runs of the same thing, in the order they were made; with three or more their medians are compared.
    pub repeats: Vec<Measurements>,
    /// Where and when they were recorded; none where they were made here.
    pub recorded: Option<String>,
    /// The command line they were made with; empty where it is not known.
    pub setup: Vec<String>,
}

impl ComparedRun {
    /// Whether nothing was changed from one to the other.
    fn is_set_up_as(&self, other: &ComparedRun) -> bool {
        !self.setup.is_empty() && self.setup == other.setup
    }
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

/// The figures, and the steps as bars, where there is no room for both.
const SECTIONS: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct ComparePanel {
    runs: Vec<ComparedRun>,
    metrics: Vec<Metric>,
    section: Tabs,
    cursor: Cursor,
    /// Whether bars and figures were drawn together.
    together: Cell<bool>,
}

impl ComparePanel {
    /// The first run is what the others are held against. Without metrics, the usual ones are shown.
    pub fn new(runs: Vec<ComparedRun>, metrics: Vec<Metric>) -> Self {
        ComparePanel {
            runs,
            metrics: match metrics.is_empty() {
                true => USUAL_METRICS.to_vec(),
                false => metrics,
            },
            ..ComparePanel::default()
        }
    }

    fn table(&self, theme: &Theme) -> Table {
        figures::table(&self.runs, &self.metrics, theme).at(self.cursor)
    }
}

impl Panel for ComparePanel {
    fn title(&self) -> String {
        "Runs side by side".into()
    }

    fn paint(&self, pane: &mut Pane) {
        if self.runs.iter().all(|run| run.repeats.is_empty()) {
            return pane.remark("There is no run to compare yet.");
        }
        let (theme, wide) = (pane.theme, pane.area.width);
        pane.put(figures::origins(&self.runs, wide, theme));
        let table = self.table(theme);
        let metric = self.metrics.get(self.cursor.row).or(self.metrics.last());
        let detail = metric.map(|metric| figures::detail(&self.runs, *metric, wide, theme));
        let mut detail = detail.unwrap_or_default();
        let bars = bars::lines(&self.runs, wide, theme);
        let all = usize::from(table.height()) + detail.len() + bars.len() + 2;
        let together = usize::from(pane.area.height) >= all;
        self.together.set(together);
        if together {
            pane.put(bars);
            pane.put([Line::default()]);
            detail.insert(0, Line::default());
        } else if self.section.at > 0 {
            return pane.put(bars);
        }
        // The table keeps some rows however much there is to say about one of them.
        let least = pane.area.height.min(table.height()).min(6);
        table.draw_over(detail, pane.area.height - least, pane);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let table = self.table(&Theme::default());
        self.section.act(action, SECTIONS) || table.move_cursor(&mut self.cursor, action)
    }

    fn commands(&self) -> Vec<Command> {
        let other = match self.section.at {
            0 => "steps as bars",
            _ => "figures",
        };
        let turn = (PanelAction::NextSection, other);
        let turn = (!self.together.get()).then_some(turn);
        let down = (PanelAction::Down, "next figure");
        turn.into_iter().chain([down]).collect()
    }
}
