//! The run in figures: medians, parts of a step, throughput compared with the prediction, launches, memory, energy.

mod device;
mod learning;

use ratatui::prelude::{Line, Span, Style};

use super::measured::{MedianStepTime, measured, middle};
use super::state::RunState;
use crate::tui::{NOT_REPORTED, Theme, bar, labelled, milliseconds, paragraph, width};
use tinyllama_base::{Interval, Share, factor, percent};
use tinyllama_contract::Synchronize;
use tinyllama_runs::Metric;

/// Columns of the names on the left.
const LABEL: usize = 11;

struct FigurePage<'a> {
    state: &'a RunState,
    theme: &'a Theme,
    wide: u16,
    lines: Vec<Line<'static>>,
}

type FigureLine<'a> = fn(&mut FigurePage<'a>);

/// All known figures, most important first. Each line fits `wide` columns.
pub fn lines<'a>(state: &'a RunState, wide: u16, theme: &'a Theme) -> Vec<Line<'static>> {
    let figures: [FigureLine<'a>; 9] = [
        FigurePage::times,
        FigurePage::pace,
        FigurePage::throughput,
        FigurePage::prediction,
        FigurePage::launches,
        FigurePage::memory,
        FigurePage::loss,
        FigurePage::gradients,
        FigurePage::gpu,
    ];
    page(state, wide, theme, &figures)
}

/// Figures about the load of the device.
pub fn device_lines<'a>(state: &'a RunState, wide: u16, theme: &'a Theme) -> Vec<Line<'static>> {
    let figures: [FigureLine<'a>; 5] = [
        FigurePage::pace,
        FigurePage::launches,
        FigurePage::work,
        FigurePage::memory,
        FigurePage::gpu,
    ];
    page(state, wide, theme, &figures)
}

/// Figures about learning.
pub fn learning_lines<'a>(state: &'a RunState, wide: u16, theme: &'a Theme) -> Vec<Line<'static>> {
    let figures: [FigureLine<'a>; 3] = [
        FigurePage::loss,
        FigurePage::gradients,
        FigurePage::repeatability,
    ];
    page(state, wide, theme, &figures)
}

/// Figures about time.
pub fn time_lines<'a>(state: &'a RunState, wide: u16, theme: &'a Theme) -> Vec<Line<'static>> {
    let figures: [FigureLine<'a>; 2] = [FigurePage::times, FigurePage::compare_to_last_time];
    page(state, wide, theme, &figures)
}

fn page<'a>(
    state: &'a RunState,
    wide: u16,
    theme: &'a Theme,
    figures: &[FigureLine<'a>],
) -> Vec<Line<'static>> {
    let mut page = FigurePage {
        state,
        theme,
        wide,
        lines: Vec::new(),
    };
    for figure in figures {
        figure(&mut page);
    }
    page.lines
}

impl FigurePage<'_> {
    fn line(&mut self, label: &str, value: impl Into<String>, style: Style) {
        let value = Span::styled(value.into(), style);
        let lines = labelled(label, LABEL, value, self.wide, self.theme);
        self.lines.extend(lines);
    }

    fn plain(&mut self, label: &str, value: impl Into<String>) {
        self.line(label, value, self.theme.text());
    }

    fn not_reported(&mut self, label: &str) {
        self.line(label, NOT_REPORTED, self.theme.muted());
    }

    /// The figure, or "not reported" from the first step on.
    fn reported(&mut self, label: &str, text: Option<String>) {
        match text {
            Some(text) => self.plain(label, text),
            None if self.state.step.is_some() => self.not_reported(label),
            None => {}
        }
    }

    fn warning(&mut self, text: &str) {
        let lines = paragraph(text, self.wide, self.theme.warning());
        self.lines.extend(lines);
    }

    /// Columns that remain of a line after `taken` of them.
    fn room(&self, taken: usize) -> usize {
        usize::from(self.wide).saturating_sub(taken)
    }

    fn times(&mut self) {
        let Some(total) = middle(self.state, Metric::TotalMs) else {
            let text = match &self.state.step {
                Some((_, step)) => format!("{} (warm-up)", milliseconds(step.total_ms)),
                None => "none yet".to_owned(),
            };
            return self.plain("step", text);
        };
        let [median, p10, p90] = total.map(three_digits);
        let spread = format!("{median} ms (p10 {p10}, p90 {p90})");
        self.line("step", spread, self.theme.emphasis());
        let Some(time) = MedianStepTime::from_state(self.state) else {
            return;
        };
        if time.parts.is_empty() {
            self.line(" parts", "not timed apart", self.theme.muted());
        }
        for (at, (name, ms)) in time.parts.iter().enumerate() {
            self.part(name, *ms, time.total, self.theme.series(at + 1));
        }
        if let Some(missing) = time.missing() {
            self.part("in no part", missing, time.total, self.theme.warning());
            let share = percent(Share(missing / time.total));
            if self.state.synchronized() == Some(false) {
                let why = if self.is_puzzle() {
                    ""
                } else {
                    ": the clock was read before the device had finished"
                };
                self.warning(&format!("{share} of the step is in no part{why}"));
            }
        } else if self.state.synchronized() == Some(false) && !self.is_puzzle() {
            self.warning(
                "not synchronized: the device may still be at work when the clock is read",
            );
        }
    }

    /// True for a stage whose clock is the mistake that the learner has to find.
    fn is_puzzle(&self) -> bool {
        let hello = self.state.hello.as_ref();
        hello.is_some_and(|hello| hello.synchronize == Synchronize::HostParts.name())
    }

    /// Compares with the same command's last run, and names the range that chance alone explains.
    fn compare_to_last_time(&mut self) {
        let Some(Interval {
            value, low, high, ..
        }) = self.state.to_before
        else {
            return;
        };
        let ratio = self.theme.ratio(value);
        let (lowest, highest) = (factor(low), factor(high));
        let mut text = format!("{ratio} the step of last time ({lowest} to {highest})");
        if low <= 1.0 && high >= 1.0 {
            text += ": these runs cannot decide it";
        }
        let text = Span::styled(text, self.theme.text());
        self.lines
            .extend(labelled(" again", LABEL, text, self.wide, self.theme));
    }

    fn part(&mut self, name: &str, ms: f64, total: f64, style: Style) {
        let value = format!("{:>9}", milliseconds(ms));
        let label = format!(" {name:<width$}", width = LABEL - 1);
        let room = self.room(LABEL + width(&value) + 1);
        let (full, _) = bar(ms / total, room.min(24), self.theme);
        self.lines.push(Line::from(vec![
            Span::styled(label, self.theme.muted()),
            Span::raw(value),
            Span::raw(" "),
            Span::styled(full, style),
        ]));
    }

    fn throughput(&mut self) {
        let Some(rate) = measured(self.state, Metric::SamplesPerS) else {
            return self.line("throughput", "none yet", self.theme.muted());
        };
        let text = Metric::SamplesPerS.unit().show(rate);
        self.line("throughput", text, self.theme.emphasis());
        self.compare_to_last_time();
    }

    fn prediction(&mut self) {
        let Some(prediction) = &self.state.context.prediction else {
            return;
        };
        let is_measured = prediction.metric.is_some() || self.state.prediction_outcome.is_some();
        if !self.state.is_running() && is_measured {
            // The prediction already stands above all other figures then.
            return;
        }
        let expected = prediction.unit.show(prediction.value);
        let value = prediction.metric.map(|metric| measured(self.state, metric));
        let text = match value {
            None => format!("{expected} for the {}", prediction.label),
            Some(None) => expected,
            Some(Some(value)) if prediction.value != 0.0 => {
                let ratio = self.theme.ratio(value / prediction.value);
                format!("{expected}: it is {ratio}")
            }
            Some(Some(value)) => format!("{expected}: it is {}", prediction.unit.show(value)),
        };
        self.line("you said", text, self.theme.accent());
    }
}

/// Three significant digits, so that a figure and its spread fit one line of a narrow screen.
fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}
