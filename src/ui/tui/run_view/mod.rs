//! The panel of a run, during it and afterwards: shows every figure that its events report, and no other.

mod charts;
mod context;
mod curves;
mod figures;
mod gpu;
mod header;
mod history;
mod journal;
mod kernels;
mod log;
mod measured;
mod overview;
mod read;
mod result;
mod setup;
mod state;
#[cfg(test)]
mod tests;

use ratatui::prelude::{Constraint, Line};

pub use self::context::{LearnerPrediction, Round, RunContext};
use self::curves::ChartSpan;
use self::kernels::KernelTableView;
use self::state::RunState;
use super::widgets::table::TableView;
use crate::tui::{Cursor, Pane, PanelCommand, Tabs, paragraph};
use tinyllama_base::TextTable;
use tinyllama_contract::Step;
use tinyllama_profile::live::GpuStatus;
use tinyllama_runs::steps;
use tinyllama_tutor_core::PanelAction;
use tinyllama_tutor_core::RunEnding;

/// Draws a section into its pane.
type Draw = fn(&RunView, Pane);

const SECTIONS: [(&str, Draw); 8] = [
    ("Overview", |view, pane| {
        overview::draw(&view.state, view.span, &view.look, pane);
    }),
    ("Times", RunView::times),
    ("Loss", RunView::loss),
    ("Device", RunView::device),
    ("Kernels", |view, pane| view.look.draw(&view.state, pane)),
    ("Steps", RunView::steps),
    ("Log", |view, pane| {
        log::draw(&view.state.journal, view.back.row, pane);
    }),
    ("Setup", |view, mut pane| {
        pane.put(setup::lines(&view.state, pane.area.width, pane.theme));
    }),
];

/// Indices of the sections that the learner can scroll.
const KERNELS: usize = 4;
const STEPS: usize = 5;
const LOG: usize = 6;

/// Lines that a chart needs to be readable.
const LEAST_CHART: u16 = 5;

/// The panel of one run.
#[derive(Clone, Debug, Default)]
pub struct RunView {
    pub(in crate::tui) state: RunState,
    section: Tabs,
    span: ChartSpan,
    look: KernelTableView,
    /// The selected step.
    row: Cursor,
    /// Number of log entries below the visible ones; 0 follows the end.
    back: Cursor,
}

impl RunView {
    pub fn new(context: RunContext) -> Self {
        RunView {
            state: RunState::new(context),
            ..RunView::default()
        }
    }

    /// Adds a reading of all GPUs, `t` seconds after the run's start, and the name of its source.
    pub fn gpu(&mut self, t: f64, gpus: &[GpuStatus], source: &'static str) {
        let hello = self.state.hello.as_deref();
        // A run on the processor leaves the GPU to other programs; its figures would only mislead.
        if hello.is_none_or(|hello| hello.backend != "cpu") {
            let device = hello.map(|hello| hello.device.clone());
            self.state.gpu.add(t, gpus, device.as_deref(), source);
        }
    }

    /// Notes that the process has ended.
    pub fn ended(&mut self, ending: RunEnding) {
        self.state
            .journal
            .add(journal::Voice::Stderr, &ending.stderr);
        self.state.ended = Some(ending);
    }

    /// Sets the seconds since the start, and the seconds since the last output if that is unusually long ago.
    pub fn clock(&mut self, seconds: f64, silent: Option<f64>) {
        if self.state.is_running() {
            self.state.clock = self.state.clock.max(seconds);
            self.state.silent = silent;
        }
    }

    fn times(&self, mut pane: Pane) {
        let state = &self.state;
        pane.put(figures::time_lines(state, pane.area.width, pane.theme));
        let [upper, lower] = pane.rows([Constraint::Fill(1), Constraint::Fill(1)]);
        charts::time(state).draw(self.span, pane.sub_pane(upper));
        charts::parts(state).draw(self.span, pane.sub_pane(lower));
    }

    fn loss(&self, mut pane: Pane) {
        let lines = figures::learning_lines(&self.state, pane.area.width, pane.theme);
        pane.put(lines);
        charts::loss(&self.state).draw(self.span, pane);
    }

    fn steps(&self, mut pane: Pane) {
        if self.state.steps.is_empty() {
            return pane.remark("No step has finished yet.");
        }
        let table = step_table(&self.state);
        let notes = table.notes.iter();
        let notes = notes.flat_map(|note| paragraph(note, pane.area.width, pane.theme.muted()));
        let notes = notes.collect();
        let of_text = TableView::from_text(&table).with_cursor(&self.row);
        of_text.draw_over(notes, 2, &mut pane);
    }

    fn device(&self, mut pane: Pane) {
        let state = &self.state;
        pane.put(figures::device_lines(state, pane.area.width, pane.theme));
        let has_power = state
            .gpu
            .readings
            .iter()
            .any(|(_, gpu)| gpu.power.is_some());
        let places = if pane.area.width < 76 {
            // Charts stand one below the other, as many as are readable.
            let fitting = pane.area.height / LEAST_CHART;
            let charts = fitting.clamp(1, 2 + u16::from(has_power));
            let row = |at| match at < charts {
                true => Constraint::Fill(1),
                false => Constraint::Length(0),
            };
            pane.rows([row(0), row(1), row(2)])
        } else {
            let [left, _, right] = pane.columns([
                Constraint::Fill(1),
                Constraint::Length(2),
                Constraint::Fill(1),
            ]);
            let lower = if has_power { right.height / 2 } else { 0 };
            let rows = [Constraint::Fill(1), Constraint::Length(lower)];
            let [upper, lower] = pane.sub_pane(right).rows(rows);
            [left, upper, lower]
        };
        charts::memory(state).draw(self.span, pane.sub_pane(places[0]));
        charts::launches(state).draw(self.span, pane.sub_pane(places[1]));
        charts::power(state, pane.sub_pane(places[2]));
    }
}

/// The latest steps, the last one first.
fn step_table(state: &RunState) -> TextTable {
    let latest: Vec<Step> = state.steps.iter().cloned().collect();
    steps::table(String::new(), &latest).into()
}

impl RunView {
    pub fn title(&self) -> String {
        format!("A run of {}", self.state.context.target)
    }

    pub fn paint(&self, pane: &mut Pane) {
        let height = pane.area.height;
        let lines = header::lines(&self.state, pane.area.width, pane.theme);
        pane.put(lines);
        if height >= 8 {
            let names = SECTIONS.map(|(name, _)| name);
            pane.put([self.section.line(&names, pane.width(), pane.theme)]);
        }
        if height >= 26 {
            pane.put([Line::default()]);
        }
        let (_, draw) = SECTIONS[self.section.at];
        draw(self, pane.sub_pane(pane.area));
    }

    pub fn act(&mut self, action: PanelAction) -> bool {
        if self.section.act(action, SECTIONS.len()) {
            return true;
        }
        match (self.section.at, action) {
            (KERNELS, _) => self.look.act(action, &self.state),
            (STEPS, _) => {
                let table = TableView::from_text(&step_table(&self.state));
                table.move_cursor(&mut self.row, action)
            }
            (LOG, _) => {
                let entries = self.state.journal.entries.len();
                self.back.act(action.reversed(), entries, 0)
            }
            (0..KERNELS, PanelAction::Toggle) => {
                self.span = self.span.toggled();
                true
            }
            _ => false,
        }
    }

    pub fn filter(&mut self, text: &str) -> bool {
        match self.section.at {
            KERNELS => self.look.filter(text, &self.state),
            STEPS => {
                let table = TableView::from_text(&step_table(&self.state));
                table.filter(&mut self.row, text)
            }
            _ => false,
        }
    }

    pub fn commands(&self) -> Vec<PanelCommand> {
        let mut commands = vec![(PanelAction::NextSection, "next section")];
        match self.section.at {
            KERNELS => commands.extend(self.look.commands(&self.state)),
            STEPS => commands.push((PanelAction::Sort, "sort")),
            0..KERNELS => commands.push((PanelAction::Toggle, self.span.toggled().name())),
            _ => {}
        }
        commands
    }
}
