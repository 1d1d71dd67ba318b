//! The run in figures: medians, parts of a step, throughput against what was expected, launches, memory, energy.

mod device;
mod learning;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::measured::{StepTime, measured, middle};
use super::state::RunState;
use crate::analysis::Metric;
use crate::tui::panels::text::{NOT_REPORTED, bar, cut, milliseconds, width};
use crate::tui::theme::Theme;

/// Columns of the names on the left.
const LABEL: usize = 11;

struct Page<'a> {
    state: &'a RunState,
    theme: &'a Theme,
    wide: usize,
    lines: Vec<Line<'static>>,
}

/// Everything known, most important first; each line fits `wide` columns.
pub fn lines(state: &RunState, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut page = Page::new(state, wide, theme);
    page.times();
    page.throughput();
    page.prediction();
    page.launches();
    page.memory();
    page.loss();
    page.gradients();
    page.gpu();
    page.lines
}

/// What the device is charged with.
pub fn device_lines(state: &RunState, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut page = Page::new(state, wide, theme);
    page.launches();
    page.work();
    page.memory();
    page.gpu();
    page.lines
}

/// Whether it learns.
pub fn learning_lines(state: &RunState, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut page = Page::new(state, wide, theme);
    page.loss();
    page.gradients();
    page.repeatability();
    page.lines
}

/// Where the time goes.
pub fn time_lines(state: &RunState, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut page = Page::new(state, wide, theme);
    page.times();
    page.earlier_times();
    page.lines
}

impl<'a> Page<'a> {
    fn new(state: &'a RunState, wide: u16, theme: &'a Theme) -> Self {
        Page {
            state,
            theme,
            wide: usize::from(wide),
            lines: Vec::new(),
        }
    }

    fn line(&mut self, label: &str, value: impl Into<String>, style: Style) {
        let label = format!("{label:<LABEL$}");
        let room = self.wide.saturating_sub(width(&label));
        let value = cut(&value.into(), room, self.theme);
        self.lines.push(Line::from(vec![
            Span::styled(label, self.theme.muted()),
            Span::styled(value, style),
        ]));
    }

    fn not_reported(&mut self, label: &str) {
        let style = self.theme.muted();
        self.line(label, NOT_REPORTED, style);
    }

    fn warning(&mut self, text: &str) {
        let style = self.theme.warning();
        let lines = crate::tui::panels::text::wrap(text, self.wide);
        self.lines
            .extend(lines.into_iter().map(|line| Line::styled(line, style)));
    }

    fn times(&mut self) {
        let summary = self.state.summary.as_deref();
        let total = middle(summary.and_then(|s| s.total_ms), &self.state.times.total);
        let Some(total) = total else {
            let text = match &self.state.step {
                Some((_, step)) => format!("{} (warm-up)", milliseconds(step.total_ms)),
                None => "none yet".to_owned(),
            };
            self.line("step", text, self.theme.text());
            return;
        };
        let spread = format!(
            "{} ms (p10 {}, p90 {})",
            three_digits(total.median),
            three_digits(total.p10),
            three_digits(total.p90),
        );
        self.line("step", spread, self.theme.emphasis());
        let Some(time) = StepTime::of(self.state) else {
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
            let share = 100.0 * missing / time.total;
            if self.state.synchronized() == Some(false) {
                self.warning(&format!(
                    "{share:.0} % of the step is in no part: the clock was read before the device had finished"
                ));
            }
        } else if self.state.synchronized() == Some(false) {
            self.warning(
                "not synchronized: the device may still be at work when the clock is read",
            );
        }
    }

    fn earlier_times(&mut self) {
        let Some(total) = measured(self.state, Metric::TotalMs) else {
            return;
        };
        let times = self.theme.glyphs.times;
        for earlier in &self.state.context.earlier {
            let Some(before) = earlier.total_ms.filter(|before| *before > 0.0) else {
                continue;
            };
            let ratio = total / before;
            let text = format!("{ratio:.2}{times} of {}", milliseconds(before));
            let label = cut(&format!(" {}", earlier.label), LABEL - 1, self.theme);
            self.line(&label, text, self.theme.text());
        }
    }

    fn part(&mut self, name: &str, ms: f64, total: f64, style: Style) {
        let value = format!("{:>9}", milliseconds(ms));
        let label = format!(" {name:<width$}", width = LABEL - 1);
        let room = self.wide.saturating_sub(LABEL + width(&value) + 1);
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
            self.line("throughput", "none yet", self.theme.muted());
            return;
        };
        let text = Metric::SamplesPerS.unit().show(rate);
        self.line("throughput", text, self.theme.emphasis());
        for earlier in &self.state.context.earlier {
            let Some(before) = earlier.samples_per_s.filter(|before| *before > 0.0) else {
                continue;
            };
            let times = self.theme.glyphs.times;
            let text = format!("{:.2}{times} of {before:.1}", rate / before);
            let label = cut(&format!(" {}", earlier.label), LABEL - 1, self.theme);
            self.line(&label, text, self.theme.text());
        }
    }

    fn prediction(&mut self) {
        let Some(prediction) = self.state.context.prediction.clone() else {
            return;
        };
        let expected = prediction.unit.show(prediction.value);
        let value = prediction
            .metric
            .and_then(|metric| measured(self.state, metric));
        let text = match (prediction.metric, value) {
            (None, _) => format!("{} {expected}", prediction.label),
            (Some(_), None) => expected,
            (Some(_), Some(value)) if prediction.value != 0.0 => {
                let times = self.theme.glyphs.times;
                let ratio = value / prediction.value;
                format!("{expected}: it is {ratio:.2}{times}")
            }
            (Some(_), Some(value)) => format!("{expected}: it is {}", prediction.unit.show(value)),
        };
        self.line("you said", text, self.theme.accent());
    }
}

/// Three significant digits, or the whole number.
fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}
