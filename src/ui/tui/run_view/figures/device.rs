//! Figures about the load of the device, as far as the run reports them.

use ratatui::text::{Line, Span};

use super::{FigurePage, LABEL, three_digits};
use crate::tui::run_view::gpu::Chosen;
use crate::tui::run_view::measured::{measured, middle};
use crate::tui::widgets::text::{labelled, plus_minus};
use crate::tui::{NOT_REPORTED, bar, count, width};
use tinyllama_base::triage::Triage;
use tinyllama_base::{Percentage, Share, human_bytes, percent, whole_percent};
use tinyllama_contract::Hello;
use tinyllama_profile::live::GpuStatus;
use tinyllama_runs::Metric;

impl FigurePage<'_> {
    /// What sets the pace of a step. Only a GPU that timed its kernels tells, by a clock that waited for the device.
    pub(super) fn pace(&mut self) {
        let is_cpu = |hello: &Hello| hello.backend == "cpu";
        if self.state.hello.as_deref().is_none_or(is_cpu)
            || self.state.synchronized() == Some(false)
        {
            return;
        }
        let kernels = self.state.kernels.iter().flat_map(|it| &it.kernels);
        let kernels: f64 = kernels.filter_map(|it| it.device_ms_per_step).sum();
        let launches = measured(self.state, Metric::LaunchesPerStep);
        let step = middle(self.state, Metric::TotalMs);
        let triage = step.and_then(|[step, ..]| Triage::from_step(step, kernels, launches));
        if let Some(triage) = triage {
            self.plain("pace", triage.to_string());
        }
    }

    pub(super) fn launches(&mut self) {
        let launches = measured(self.state, Metric::LaunchesPerStep);
        let text = launches.map(|launches| format!("{} a step by the host", count(launches)));
        self.reported("launches", text);
        if let Some(captured) = self.captured().filter(|captured| *captured > 0.0) {
            let text = format!("{} a step in a captured graph", count(captured));
            self.plain(" replayed", text);
        }
        if let Some(kernels) = &self.state.kernels {
            let text = format!("{} kernels a step", count(kernels.launches_per_step));
            self.plain(" on device", text);
        }
    }

    /// Kernels of one step that a captured graph runs; `None` if the run has no graph.
    fn captured(&self) -> Option<f64> {
        let summary = self.state.summary.as_ref();
        let of_step = || Some(self.state.step.as_ref()?.1.captured? as f64);
        summary
            .and_then(|summary| summary.captured_per_step)
            .or_else(of_step)
    }

    /// Operations and bytes of one step, if the run counted them.
    pub(super) fn work(&mut self) {
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
        self.plain("work", text);
        if let Some(achieved) = parts.achieved_flops_per_s {
            let text = Metric::AchievedFlopsPerS.unit().show(achieved);
            self.plain(" achieved", text);
        }
    }

    pub(super) fn memory(&mut self) {
        let state = self.state;
        let in_use = state.bytes_in_use.latest.map(|bytes| bytes as u64);
        let reserved = state.bytes_reserved.latest.map(|bytes| bytes as u64);
        if in_use.is_none() && reserved.is_none() {
            let summary = state.summary.as_ref();
            let peak = summary.and_then(|summary| summary.process_peak_bytes);
            let Some(peak) = peak.map(human_bytes) else {
                return self.reported("memory", None);
            };
            let text = format!("{peak} at most in the whole process");
            let text = Span::styled(text, self.theme.text());
            let lines = labelled("memory", LABEL, text, self.wide, self.theme);
            return self.lines.extend(lines);
        }
        let held = reserved.map(|bytes| format!("{} reserved", human_bytes(bytes)));
        let known = in_use.map(human_bytes).into_iter().chain(held);
        self.plain("memory", itertools::join(known, ", "));
        let Some(all) = state.hello.as_ref().and_then(|hello| hello.device_memory) else {
            return;
        };
        let share = reserved.or(in_use).unwrap_or(0) as f64 / all.max(1) as f64;
        let text = format!(" {} of {}", percent(Share(share)), human_bytes(all));
        let room = self.room(LABEL + width(&text)).min(16);
        let (full, empty) = bar(share, room, self.theme);
        self.lines.push(Line::from(vec![
            Span::raw(" ".repeat(LABEL)),
            Span::styled(full, self.theme.series(0)),
            Span::styled(empty, self.theme.muted()),
            Span::styled(text, self.theme.muted()),
        ]));
    }

    pub(super) fn gpu(&mut self) {
        let Some((gpu, chosen)) = &self.state.gpu.latest else {
            return;
        };
        for (at, line) in gpu_lines(gpu).into_iter().enumerate() {
            self.plain(if at == 0 { "GPU" } else { "" }, line);
        }
        if let Chosen::BusiestOf(several) = chosen {
            let text = format!("the busiest of {several}");
            self.line("", text, self.theme.muted());
        }
        self.energy();
    }

    /// During a run on the CPU a GPU idles, and its power does not belong to the run.
    fn energy(&mut self) {
        let hello = self.state.hello.as_ref();
        let Some(hello) = hello.filter(|hello| hello.backend != "cpu") else {
            return;
        };
        let Some((start, end, steps)) = self.state.measured_interval() else {
            return;
        };
        let samples = steps * hello.config.batch_size as u64;
        for (name, count, piece) in [("energy", steps, "step"), ("", samples, "sample")] {
            let Some(energy) = self.state.gpu.energy_per(start, end, count) else {
                return;
            };
            let text = format!(
                "{} {} {} J a {piece}",
                three_digits(energy.joules),
                plus_minus(self.theme),
                three_digits(energy.uncertainty)
            );
            self.plain(name, text);
        }
    }
}

/// The reported ones of `45 C, 300 W, 97 % busy` and `1.2 GiB used by all programs`.
fn gpu_lines(gpu: &GpuStatus) -> Vec<String> {
    let figures = [
        gpu.temperature.map(|degrees| format!("{degrees:.0} C")),
        gpu.power.map(|watts| format!("{watts:.0} W")),
        gpu.busy
            .map(|busy| format!("{} busy", whole_percent(Percentage(busy)))),
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
