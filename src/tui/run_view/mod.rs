//! A run while it goes and when it is over: every figure its event stream reports, and none it does not.

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
mod setup;
mod state;
#[cfg(test)]
mod tests;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

pub use self::context::{EarlierRun, Ended, Prediction, RunContext};
pub use self::state::RunState;

use self::kernels::Look;
use super::panel::{Panel, PanelAction, PanelCommand};
use super::panels::text::{keep_to_character_set, put, width};
use super::theme::Theme;
use crate::profiler::live::GpuStatus;
use crate::run::Line as RunLine;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Overview,
    Times,
    Loss,
    Device,
    Kernels,
    Log,
    Setup,
}

impl Section {
    const ALL: [Section; 7] = [
        Section::Overview,
        Section::Times,
        Section::Loss,
        Section::Device,
        Section::Kernels,
        Section::Log,
        Section::Setup,
    ];

    fn name(self) -> &'static str {
        match self {
            Section::Overview => "Overview",
            Section::Times => "Times",
            Section::Loss => "Loss",
            Section::Device => "Device",
            Section::Kernels => "Kernels",
            Section::Log => "Log",
            Section::Setup => "Setup",
        }
    }

    /// The section `by` places further round.
    fn turned(self, by: usize) -> Self {
        let at = Section::ALL.iter().position(|section| *section == self);
        let next = (at.unwrap_or(0) + by) % Section::ALL.len();
        Section::ALL.get(next).copied().unwrap_or_default()
    }
}

/// Lines a chart needs to say something.
const LEAST_CHART: u16 = 5;

/// Entries of the log, rows of the table a page goes by.
const PAGE: usize = 10;

/// The panel of one run.
#[derive(Clone, Debug)]
pub struct RunView {
    state: RunState,
    section: Section,
    span: curves::Span,
    look: Look,
    /// Entries of the log below the ones shown; 0 follows the end.
    back: usize,
}

impl RunView {
    pub fn new(context: RunContext) -> Self {
        RunView {
            state: RunState::new(context),
            section: Section::default(),
            span: curves::Span::default(),
            look: Look::default(),
            back: 0,
        }
    }

    /// A line of the child's output.
    pub fn line(&mut self, line: &RunLine) {
        self.state.line(line);
    }

    /// The tail of the child's error stream; replaces an earlier one.
    pub fn stderr(&mut self, text: &str) {
        self.state.journal.replace_stderr(text);
    }

    /// All GPUs at a moment, `t` seconds after the run's start, with what the figures come from.
    pub fn gpu(&mut self, t: f64, gpus: &[GpuStatus], source: &'static str) {
        let hello = self.state.hello.as_deref();
        // A run on the processor leaves the GPU to others; its figures would only mislead.
        if hello.is_none_or(|hello| hello.backend != "cpu") {
            let device = hello.map(|hello| hello.device.clone());
            self.state.gpu.add(t, gpus, device.as_deref(), source);
        }
    }

    /// The process has ended, with what to do about it where the caller knows.
    pub fn ended(&mut self, ended: Ended, remedy: Option<String>) {
        self.state.ended = Some(ended);
        self.state.remedy = remedy;
    }

    /// Seconds since the start.
    pub fn clock(&mut self, seconds: f64) {
        if self.is_running() {
            self.state.clock = self.state.clock.max(seconds);
        }
    }

    pub fn is_running(&self) -> bool {
        self.state.is_running()
    }

    /// What is known of the run.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    fn tabs(&self, wide: u16, theme: &Theme) -> Line<'static> {
        let all: usize = Section::ALL
            .iter()
            .map(|section| width(section.name()) + 2)
            .sum();
        let spans = Section::ALL.iter().map(|section| {
            let style = if *section == self.section {
                theme.selection()
            } else {
                theme.muted()
            };
            Span::styled(format!(" {} ", section.name()), style)
        });
        if all <= usize::from(wide) {
            Line::from(spans.collect::<Vec<_>>())
        } else {
            let name = format!(" {} ", self.section.name());
            Line::styled(name, theme.selection())
        }
    }

    fn device(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let state = &self.state;
        let area = put(
            figures::device_lines(state, area.width, theme),
            area,
            buffer,
        );
        let has_power = state.gpu.readings().any(|(_, gpu)| gpu.power.is_some());
        if area.width < 76 {
            // One below the other, as many as can be read.
            let charts =
                usize::from(area.height / LEAST_CHART).clamp(1, 2 + usize::from(has_power));
            let areas = Layout::vertical(vec![Constraint::Fill(1); charts]).split(area);
            for (at, area) in areas.iter().enumerate() {
                match at {
                    0 => charts::memory(state, self.span, *area, buffer, theme),
                    1 => charts::launches(state, self.span, *area, buffer, theme),
                    _ => charts::power(state, *area, buffer, theme),
                }
            }
            return;
        }
        let columns = [
            Constraint::Fill(1),
            Constraint::Length(2),
            Constraint::Fill(1),
        ];
        let [left, _, right] = Layout::horizontal(columns).areas(area);
        let lower = if has_power { right.height / 2 } else { 0 };
        let rows = [Constraint::Fill(1), Constraint::Length(lower)];
        let [upper, lower] = Layout::vertical(rows).areas(right);
        charts::memory(state, self.span, left, buffer, theme);
        charts::launches(state, self.span, upper, buffer, theme);
        if has_power {
            charts::power(state, lower, buffer, theme);
        }
    }

    fn times(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let area = put(
            figures::time_lines(&self.state, area.width, theme),
            area,
            buffer,
        );
        let [upper, lower] =
            Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
        charts::time(&self.state, self.span, upper, buffer, theme);
        charts::parts(&self.state, self.span, lower, buffer, theme);
    }

    fn scroll(&mut self, action: PanelAction) -> bool {
        match self.section {
            Section::Kernels => self.select(action),
            Section::Log => self.scroll_log(action),
            _ => false,
        }
    }

    fn select(&mut self, action: PanelAction) -> bool {
        let last = kernels::rows(&self.state, self.look).saturating_sub(1);
        let before = (self.look.selected, self.look.shift);
        let selected = self.look.selected.min(last);
        self.look.selected = moved(selected, action).min(last);
        match action {
            PanelAction::Left => self.look.shift = self.look.shift.saturating_sub(1),
            PanelAction::Right => self.look.shift = (self.look.shift + 1).min(5),
            _ => {}
        }
        before != (self.look.selected, self.look.shift)
    }

    fn scroll_log(&mut self, action: PanelAction) -> bool {
        let before = self.back;
        let oldest = self.state.journal.len().saturating_sub(1);
        self.back = match action {
            PanelAction::Up => self.back + 1,
            PanelAction::PageUp => self.back + PAGE,
            PanelAction::Down => self.back.saturating_sub(1),
            PanelAction::PageDown => self.back.saturating_sub(PAGE),
            PanelAction::Top => oldest,
            PanelAction::Bottom => 0,
            _ => self.back,
        }
        .min(oldest);
        before != self.back
    }

    fn toggle(&mut self) -> bool {
        match self.section {
            Section::Log | Section::Setup => return false,
            Section::Kernels => {
                self.look.by_part = !self.look.by_part;
                self.look.selected = 0;
            }
            _ => {
                self.span = match self.span {
                    curves::Span::Recent => curves::Span::Whole,
                    curves::Span::Whole => curves::Span::Recent,
                }
            }
        }
        true
    }
}

/// Where a selection goes; the end is beyond every row.
fn moved(selected: usize, action: PanelAction) -> usize {
    match action {
        PanelAction::Up => selected.saturating_sub(1),
        PanelAction::Down => selected + 1,
        PanelAction::PageUp => selected.saturating_sub(PAGE),
        PanelAction::PageDown => selected + PAGE,
        PanelAction::Top => 0,
        PanelAction::Bottom => usize::MAX,
        _ => selected,
    }
}

impl Panel for RunView {
    fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let area = area.intersection(buffer.area);
        let mut lines = header::lines(&self.state, area.width, theme);
        if area.height >= 8 {
            lines.push(self.tabs(area.width, theme));
        }
        if area.height >= 26 {
            lines.push(Line::default());
        }
        let body = put(lines, area, buffer);
        let state = &self.state;
        match self.section {
            Section::Overview => {
                overview::render(state, self.span, self.look, body, buffer, theme);
            }
            Section::Times => self.times(body, buffer, theme),
            Section::Loss => {
                let figures = figures::learning_lines(state, body.width, theme);
                let rest = put(figures, body, buffer);
                charts::loss(state, self.span, rest, buffer, theme);
            }
            Section::Device => self.device(body, buffer, theme),
            Section::Kernels => kernels::render(state, self.look, body, buffer, theme),
            Section::Log => log::render(&state.journal, self.back, body, buffer, theme),
            Section::Setup => {
                put(setup::lines(state, body.width, theme), body, buffer);
            }
        }
        keep_to_character_set(area, buffer, theme);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        match action {
            PanelAction::NextSection => self.section = self.section.turned(1),
            PanelAction::PreviousSection => {
                self.section = self.section.turned(Section::ALL.len() - 1);
            }
            PanelAction::Toggle => return self.toggle(),
            PanelAction::Sort if self.section == Section::Kernels => {
                self.look.order = self.look.order.next();
            }
            PanelAction::Sort | PanelAction::Select => return false,
            _ => return self.scroll(action),
        }
        true
    }

    fn commands(&self) -> Vec<PanelCommand> {
        let mut commands = vec![PanelCommand::new(PanelAction::NextSection, "next section")];
        match self.section {
            Section::Log | Section::Setup => {}
            Section::Kernels => {
                let toggle = if self.look.by_part {
                    "by kernel"
                } else {
                    "by part"
                };
                commands.push(PanelCommand::new(PanelAction::Toggle, toggle));
                let sort = self.look.order.next().command();
                commands.push(PanelCommand::new(PanelAction::Sort, sort));
            }
            _ => {
                let toggle = match self.span {
                    curves::Span::Recent => "whole run",
                    curves::Span::Whole => "latest steps",
                };
                commands.push(PanelCommand::new(PanelAction::Toggle, toggle));
            }
        }
        commands
    }
}
