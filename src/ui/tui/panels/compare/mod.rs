//! Compares runs side by side with the first one: medians, spread, and ratios with their verdicts.

mod bars;
mod figures;
#[cfg(test)]
mod tests;

use std::cell::Cell;

use ratatui::text::Line;

use crate::tui::{Cursor, Pane, Panel, PanelCommand, TableView, Tabs, Theme};
use tinyllama_runs::{Measurements, Metric};
use tinyllama_tutor_core::PanelAction;

/// One of the compared runs, with its repeats.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    pub label: String,
    /// Repeats in the order in which they were made. With three or more, the panel compares their medians.
    pub repeats: Vec<Measurements>,
    /// Place and time of the recording; `None` for runs of this machine.
    pub recorded: Option<String>,
    /// The command line of the runs; empty if it is not known.
    pub setup: Vec<String>,
    /// Number of rounds in which it took turns with the first run.
    pub rounds: usize,
}

/// Fewer rounds do not show a drift of the machine.
const LEAST_ROUNDS: usize = 3;

impl ComparedRun {
    /// Returns whether it took turns with the first run often enough for a verdict.
    fn is_in_turns(&self) -> bool {
        self.rounds >= LEAST_ROUNDS
    }

    /// Returns whether both runs have the same known command line.
    fn is_set_up_as(&self, other: &ComparedRun) -> bool {
        !self.setup.is_empty() && self.setup == other.setup
    }
}

/// Metrics for a lesson that names none.
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

/// Figures and bars become two sections if they do not fit together.
const SECTIONS: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct ComparePanel {
    runs: Vec<ComparedRun>,
    metrics: Vec<Metric>,
    section: Tabs,
    cursor: Cursor,
    /// True if the last draw showed bars and figures together.
    together: Cell<bool>,
}

impl ComparePanel {
    /// Compares all runs with the first one. Shows the usual metrics if `metrics` is empty.
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

    fn table(&self, wide: u16, theme: &Theme) -> TableView {
        figures::table(&self.runs, &self.metrics, wide, theme).with_cursor(&self.cursor)
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
        let table = self.table(wide, theme);
        let metric = self.metrics.get(self.cursor.row).or(self.metrics.last());
        let detail = metric.map(|metric| figures::detail(&self.runs, *metric, wide, theme));
        let mut detail = detail.unwrap_or_default();
        let bars = bars::lines(&self.runs, wide, theme);
        let all = usize::from(table.height(wide.into())) + detail.len() + bars.len() + 2;
        let together = usize::from(pane.area.height) >= all;
        self.together.set(together);
        if together {
            pane.put(bars);
            pane.put([Line::default()]);
            detail.insert(0, Line::default());
        } else if self.section.at > 0 {
            return pane.put(bars);
        }
        // The table keeps some rows, however long the text about one of them is.
        let least = pane.area.height.min(table.height(wide.into())).min(6);
        table.draw_over(detail, pane.area.height - least, pane);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let table = self.table(0, &Theme::default());
        self.section.act(action, SECTIONS) || table.move_cursor(&mut self.cursor, action)
    }

    fn filter(&mut self, text: &str) -> bool {
        let table = self.table(0, &Theme::default());
        table.filter(&mut self.cursor, text)
    }

    fn commands(&self) -> Vec<PanelCommand> {
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
