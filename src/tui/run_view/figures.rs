//! The run in figures: medians, parts of a step, throughput against what was expected, launches, memory, energy.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::gpu::Chosen;
use super::measured::{StepTime, measured, middle};
use super::state::RunState;
use crate::analysis::Metric;
use crate::model::human_bytes;
use crate::profiler::live::GpuStatus;
use crate::tui::panels::text::{NOT_REPORTED, bar, count, cut, milliseconds, plus_minus, width};
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

    /// Operations and bytes of a step, where they were counted.
    fn work(&mut self) {
        let Some(parts) = &self.state.parts else {
            return;
        };
        let (flops, bytes) = (Metric::FlopsPerStep.unit(), Metric::BytesPerStep.unit());
        let text = format!(
            "{}, {} a step ({})",
            flops.show(parts.flops_per_step),
            bytes.show(parts.bytes_per_step),
            parts.source
        );
        self.line("work", text, self.theme.text());
        if let Some(achieved) = parts.achieved_flops_per_s {
            let text = Metric::AchievedFlopsPerS.unit().show(achieved);
            self.line(" achieved", text, self.theme.text());
        }
    }

    fn repeatability(&mut self) {
        let summary = self.state.summary.as_ref();
        let Some(repeat) = summary.and_then(|summary| summary.repeatability.as_ref()) else {
            return;
        };
        if repeat.identical {
            let text = format!("the same bits in {} repeats of a step", repeat.repeats);
            return self.line("repeats", text, self.theme.good());
        }
        let differing = repeat.differing_parameter.as_deref();
        let text = format!(
            "differ by {:.1e} in the loss, by {:.1e} in the gradient{}",
            repeat.loss_difference,
            repeat.gradient_difference,
            differing.map_or_else(String::new, |name| format!(" of {name}"))
        );
        self.line("repeats", text, self.theme.warning());
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

    fn launches(&mut self) {
        match measured(self.state, Metric::LaunchesPerStep) {
            Some(launches) => {
                let text = format!("{} a step by the host", count(launches));
                self.line("launches", text, self.theme.text());
            }
            None if self.state.step.is_some() => self.not_reported("launches"),
            None => {}
        }
        let Some(kernels) = &self.state.kernels else {
            return;
        };
        let device = kernels.launches_per_step;
        let host = measured(self.state, Metric::LaunchesPerStep);
        let mut text = format!("{} kernels a step", count(device));
        if let Some(replayed) = host.map(|host| device - host).filter(|more| *more >= 1.0) {
            text.push_str(&format!(", {} replayed", count(replayed)));
        }
        self.line(" on device", text, self.theme.text());
    }

    fn memory(&mut self) {
        let state = self.state;
        let in_use = state.bytes_in_use.latest().map(|bytes| bytes as u64);
        let reserved = state.bytes_reserved.latest().map(|bytes| bytes as u64);
        if in_use.is_none() && reserved.is_none() {
            if state.step.is_some() {
                self.not_reported("memory");
            }
            return;
        }
        let text = match (in_use, reserved) {
            (Some(in_use), Some(reserved)) => {
                format!(
                    "{}, {} reserved",
                    human_bytes(in_use),
                    human_bytes(reserved)
                )
            }
            (Some(in_use), None) => human_bytes(in_use),
            (None, reserved) => format!("{} reserved", human_bytes(reserved.unwrap_or(0))),
        };
        self.line("memory", text, self.theme.text());
        let Some(all) = state.hello.as_ref().and_then(|hello| hello.device_memory) else {
            return;
        };
        let share = reserved.or(in_use).unwrap_or(0) as f64 / all.max(1) as f64;
        let text = format!(" {:.1} % of {}", 100.0 * share, human_bytes(all));
        let room = self.wide.saturating_sub(LABEL + width(&text)).min(16);
        let (full, empty) = bar(share, room, self.theme);
        self.lines.push(Line::from(vec![
            Span::raw(" ".repeat(LABEL)),
            Span::styled(full, self.theme.series(0)),
            Span::styled(empty, self.theme.muted()),
            Span::styled(text, self.theme.muted()),
        ]));
    }

    fn loss(&mut self) {
        if let Some(step) = self.state.loss_lost {
            let text = format!("not finite since step {step}");
            self.line("loss", text, self.theme.bad());
            return;
        }
        let now = self.state.loss.latest();
        let Some((now, first)) = now.zip(self.state.first_loss) else {
            return;
        };
        let arrow = self.theme.glyphs.arrow;
        let text = if self.state.loss.steps() > 1 {
            format!("{first:.4} {arrow} {now:.4} nats")
        } else {
            format!("{now:.4} nats")
        };
        self.line("loss", text, self.theme.text());
    }

    fn gradients(&mut self) {
        let Some(summary) = &self.state.summary else {
            return;
        };
        let all = summary.parameter_tensors;
        match summary.parameters_with_gradient {
            Some(with) if with == all => {
                let text = format!("all {all} tensors {}", self.theme.glyphs.check);
                self.line("gradients", text, self.theme.good());
            }
            Some(with) => {
                let text = format!("{with} of {all} tensors: this is not training");
                self.line("gradients", text, self.theme.bad());
            }
            None => self.not_reported("gradients"),
        }
    }

    fn gpu(&mut self) {
        let Some((gpu, chosen)) = self.state.gpu.latest() else {
            return;
        };
        let (lines, chosen) = (gpu_lines(gpu), *chosen);
        for (at, line) in lines.into_iter().enumerate() {
            self.line(if at == 0 { "GPU" } else { "" }, line, self.theme.text());
        }
        if let Chosen::BusiestOf(several) = chosen {
            let text = format!("the busiest of {several}");
            self.line("", text, self.theme.muted());
        }
        let energy = self
            .state
            .measured_interval()
            .and_then(|(start, end, steps)| self.state.gpu.energy_per(start, end, steps));
        if let Some(energy) = energy {
            let text = format!(
                "{} {} {} J a step",
                three_digits(energy.joules),
                plus_minus(self.theme),
                three_digits(energy.uncertainty)
            );
            self.line("energy", text, self.theme.text());
        }
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

/// `45 C, 300 W, 97 % busy` and `1.2 GiB used by all programs`, of what is reported.
fn gpu_lines(gpu: &GpuStatus) -> Vec<String> {
    let figures = [
        gpu.temperature.map(|degrees| format!("{degrees:.0} C")),
        gpu.power.map(|watts| format!("{watts:.0} W")),
        gpu.busy.map(|percent| format!("{percent:.0} % busy")),
    ];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    let memory = gpu.memory_used;
    let mut lines = Vec::new();
    if !figures.is_empty() {
        lines.push(figures.join(", "));
    }
    lines.extend(memory.map(|bytes| format!("{} used by all", human_bytes(bytes))));
    if lines.is_empty() {
        lines.push(NOT_REPORTED.to_owned());
    }
    lines
}
