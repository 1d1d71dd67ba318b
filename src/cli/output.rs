//! The three ways a run is shown: lines for people, events for programs, one document.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use schemars::JsonSchema;
use serde::Serialize;

use crate::model::human_bytes;
use crate::train::EventSink;
use crate::train::event::{
    Activations, Body, Event, Failure, Hello, Kernels, Note, Parts, Sample, Spread, Step, Summary,
};

/// Kernels shown in the table for people; the event stream has all.
const KERNELS_SHOWN: usize = 15;

/// `--events`: one JSON object a line.
pub struct JsonLines<W: Write + Send>(pub W);

impl<W: Write + Send> EventSink for JsonLines<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, event)?;
        self.0.write_all(b"\n")?;
        self.0.flush()
    }
}

/// `--json`: everything at the end.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct FinalDocument {
    pub hello: Option<Hello>,
    pub steps: Vec<Step>,
    pub kernels: Option<Kernels>,
    pub parts: Option<Parts>,
    pub activations: Option<Activations>,
    pub sample: Option<Sample>,
    pub notes: Vec<Note>,
    pub summary: Option<Summary>,
    pub error: Option<Failure>,
}

/// Collects a [`FinalDocument`] and prints it when the stream ends.
pub struct Document<W: Write + Send> {
    out: W,
    document: FinalDocument,
}

impl<W: Write + Send> Document<W> {
    pub fn new(out: W) -> Self {
        Document {
            out,
            document: FinalDocument::default(),
        }
    }
}

impl<W: Write + Send> EventSink for Document<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let document = &mut self.document;
        match event.body.clone() {
            Body::Hello(hello) => document.hello = Some(*hello),
            Body::Phase(_) => {}
            Body::Step(step) => document.steps.push(step),
            Body::Kernels(kernels) => document.kernels = Some(kernels),
            Body::Parts(parts) => document.parts = Some(parts),
            Body::Activations(activations) => document.activations = Some(activations),
            Body::Sample(sample) => document.sample = Some(sample),
            Body::Note(note) => document.notes.push(note),
            Body::Summary(summary) => document.summary = Some(*summary),
            Body::Error(failure) => document.error = Some(failure),
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.out, &self.document)?;
        writeln!(self.out)?;
        self.out.flush()
    }
}

/// Lines for people: progress on the terminal's error stream, results on its output.
pub struct Lines<W: Write + Send> {
    out: W,
    progress: ProgressBar,
    /// Whether the heads of the step lines have been printed.
    has_header: bool,
}

impl<W: Write + Send> Lines<W> {
    pub fn new(out: W) -> Self {
        // A spinner in a log file is noise; phases are printed as lines there.
        let progress = if io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{spinner} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner())
                .tick_chars("|/-\\ ");
            ProgressBar::new_spinner().with_style(style)
        } else {
            ProgressBar::hidden()
        };
        Lines {
            out,
            progress,
            has_header: false,
        }
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        let Lines { out, progress, .. } = self;
        progress.suspend(|| {
            writeln!(out, "{text}")?;
            out.flush()
        })
    }
}

impl<W: Write + Send> EventSink for Lines<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match &event.body {
            Body::Hello(hello) => self.print(&hello_text(hello)),
            Body::Phase(phase) => {
                let eta = phase
                    .eta_s
                    .map(|s| format!(", about {s:.0} s left"))
                    .unwrap_or_default();
                self.progress.set_message(format!("{}{eta}", phase.message));
                self.progress.tick();
                Ok(())
            }
            Body::Step(step) => {
                self.progress
                    .set_message(format!("step {} of {}", step.n, step.of));
                if !self.has_header {
                    self.has_header = true;
                    self.print(&step_header(step))?;
                }
                self.print(&step_text(step))
            }
            Body::Kernels(kernels) => self.print(&kernels_text(kernels)),
            Body::Parts(parts) => self.print(&parts_text(parts)),
            Body::Activations(activations) => {
                self.print(&format!("\n{}", activations.lines().join("\n")))
            }
            Body::Sample(sample) => self.print(&format!(
                "\nSample\n  {:?} continued as\n  {:?}",
                sample.prompt, sample.continuation
            )),
            Body::Note(note) => self.print(&format!("note: {}", note.message)),
            Body::Summary(summary) => {
                self.progress.finish_and_clear();
                // A run that failed before its first step has nothing to sum up.
                if summary.steps == 0 {
                    return Ok(());
                }
                self.print(&summary_text(summary))
            }
            // The command prints errors itself, with the remedy.
            Body::Error(_) => {
                self.progress.finish_and_clear();
                Ok(())
            }
        }
    }
}

fn hello_text(hello: &Hello) -> String {
    let config = &hello.config;
    let mut lines = vec![
        format!("{} on {} ({})", hello.target, hello.device, hello.backend),
        format!(
            "  {} hidden, {} layers, {} heads, {} kv heads, ffn {}, vocabulary {}\n  {} parameters in {} tensors",
            config.hidden,
            config.layers,
            config.heads,
            config.kv_heads,
            config.ffn,
            config.vocabulary,
            grouped(hello.parameters),
            hello.parameter_tensors,
        ),
        format!(
            "  batch {} x {} tokens, {} steps to warm up (w) + {}, seed {}",
            config.batch_size, config.sequence_length, hello.warmup, hello.steps, hello.seed
        ),
        format!("  products in {}", hello.matmul_precision),
    ];
    lines.push(match &hello.data {
        crate::train::event::DataSource::Synthetic => {
            "  data: one batch of random tokens, repeated; memorising it is all there is to learn"
                .into()
        }
        crate::train::event::DataSource::Text {
            path,
            bytes,
            order_0_entropy,
        } => format!(
            "  data: {path}, {bytes} bytes; entropy of single bytes {order_0_entropy:.3} nats"
        ),
    });
    lines.join("\n")
}

/// Column heads of [`step_text`], for what this run reports: at most 80 columns, so the rate, which follows from the time,
/// gives way to launches and memory.
fn step_header(step: &Step) -> String {
    let mut line = format!("{:>10} {:>8} {:>9}", "step", "loss", "ms");
    for (name, ms) in ["forward", "backward", "update"].iter().zip(phases(step)) {
        if ms.is_some() {
            line += &format!(" {name:>9}");
        }
    }
    if step.launches.is_none() && step.bytes_in_use.is_none() {
        line += &format!(" {:>10}", "samples/s");
    }
    if step.launches.is_some() {
        line += &format!(" {:>8}", "launches");
    }
    if step.bytes_in_use.is_some() {
        line += &format!(" {:>10}", "memory");
    }
    line
}

fn step_text(step: &Step) -> String {
    let mut line = format!(
        "{}{:>9} {:>8.4} {:>9.2}",
        if step.measured { " " } else { "w" },
        format!("{}/{}", step.n, step.of),
        step.loss,
        step.total_ms
    );
    for ms in phases(step).into_iter().flatten() {
        line += &format!(" {ms:>9.2}");
    }
    if step.launches.is_none() && step.bytes_in_use.is_none() {
        line += &format!(" {:>10.1}", step.samples_per_s);
    }
    if let Some(launches) = step.launches {
        line += &format!(" {launches:>8}");
    }
    if let Some(bytes) = step.bytes_in_use {
        line += &format!(" {:>10}", human_bytes(bytes));
    }
    line
}

fn phases(step: &Step) -> [Option<f64>; 3] {
    [step.forward_ms, step.backward_ms, step.optimizer_ms]
}

const NOT_REPORTED: &str = "not reported";

fn summary_text(summary: &Summary) -> String {
    let number = |value: Option<f64>, unit: &str, digits: usize| {
        value.map_or(NOT_REPORTED.into(), |value| {
            format!("{value:.digits$}{unit}")
        })
    };
    let spread = |name: &str, spread: Option<Spread>| match spread {
        Some(s) => format!(
            "  {name:<18} mean {:.2}  median {:.2}  p10 {:.2}  p90 {:.2} ms",
            s.mean, s.median, s.p10, s.p90
        ),
        None => format!("  {name:<18} {NOT_REPORTED}"),
    };
    let mut lines = vec![
        String::new(),
        if summary.complete {
            "Summary".to_string()
        } else {
            "Summary of what was done before the run ended".to_string()
        },
        format!(
            "  {:<18} {} counted of {}",
            "steps", summary.measured_steps, summary.steps
        ),
        format!("  {:<18} {}", "samples", summary.samples),
        format!(
            "  {:<18} {}",
            "samples/s",
            number(summary.samples_per_s, "", 1)
        ),
        format!(
            "  {:<18} {}",
            "tokens/s",
            number(summary.tokens_per_s, "", 0)
        ),
        spread("step", summary.total_ms),
        spread("forward", summary.forward_ms),
        spread("backward", summary.backward_ms),
        spread("optimizer", summary.optimizer_ms),
        format!(
            "  {:<18} {}",
            "first step",
            number(summary.first_step_ms, " ms, compiling included", 1)
        ),
        format!(
            "  {:<18} {}",
            "launches/step",
            match summary.captured_per_step.filter(|captured| *captured > 0.0) {
                Some(captured) => format!(
                    "{} by the host, {captured:.0} kernels in the graph they replay",
                    number(summary.launches_per_step, "", 0)
                ),
                None => number(summary.launches_per_step, "", 0),
            }
        ),
        format!("  {:<18} {}", "most memory", most_memory(summary)),
        format!(
            "  {:<18} {} to {}",
            "loss",
            number(summary.first_loss, "", 4),
            number(summary.final_loss, "", 4)
        ),
        format!(
            "  {:<18} {} of {} tensors",
            "with a gradient",
            summary
                .parameters_with_gradient
                .map_or(NOT_REPORTED.into(), |n| n.to_string()),
            summary.parameter_tensors
        ),
    ];
    if !summary.synchronized {
        lines.push(unsynchronised_text(summary));
    }
    if let Some(repeat) = &summary.repeatability {
        lines.push(format!(
            "  {:<18} {}",
            "repeatability",
            if repeat.identical {
                format!("{} repeats of a step agree in every bit", repeat.repeats)
            } else {
                format!(
                    "{} repeats of a step differ by up to {:.1e} in the loss and {:.1e} in a gradient",
                    repeat.repeats, repeat.loss_difference, repeat.gradient_difference
                )
            }
        ));
    }
    lines.join("\n")
}

/// What is missing when a clock did not wait for the device.
fn unsynchronised_text(summary: &Summary) -> String {
    let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
    let parts: Option<f64> = [
        summary.forward_ms,
        summary.backward_ms,
        summary.optimizer_ms,
    ]
    .into_iter()
    .map(median)
    .sum();
    match (parts, median(summary.total_ms)) {
        (Some(parts), Some(total)) if parts < 0.9 * total => format!(
            "  the parts add up to {parts:.2} of {total:.2} ms: {:.2} ms ({:.0} %) of the step are in none of them,\n  \
             because their clock did not wait for the device",
            total - parts,
            (1.0 - parts / total) * 100.0
        ),
        _ => "  times are the host's clock without waiting for the device: not the device's times"
            .into(),
    }
}

fn most_memory(summary: &Summary) -> String {
    match (summary.peak_bytes_in_use, summary.peak_bytes_reserved) {
        (Some(in_use), Some(reserved)) => {
            format!(
                "{} in use between phases, {} taken from the device",
                human_bytes(in_use),
                human_bytes(reserved)
            )
        }
        (Some(in_use), None) => format!("{} in use", human_bytes(in_use)),
        _ => NOT_REPORTED.into(),
    }
}

fn kernels_text(kernels: &Kernels) -> String {
    let time = |ms: Option<f64>| ms.map_or(NOT_REPORTED.into(), |ms| format!("{ms:.3}"));
    let mut lines = vec![
        format!(
            "\nKernels, per step over {} profiled step(s): {:.0} launches, {} ms of device time, {} ms from first to last",
            kernels.steps,
            kernels.launches_per_step,
            time(kernels.device_ms_per_step),
            time(kernels.span_ms_per_step)
        ),
        format!("  {:>12} {:>9}  {:<20} kernel", "ms", "launches", "part"),
    ];
    for kernel in kernels.kernels.iter().take(KERNELS_SHOWN) {
        lines.push(format!(
            "  {:>12} {:>9.1}  {:<20} {}{}",
            time(kernel.device_ms_per_step),
            kernel.launches_per_step,
            kernel.part,
            kernel.name,
            kernel
                .fused_operations
                .filter(|operations| *operations > 1.0)
                .map(|operations| format!(" ({operations:.0} operations)"))
                .unwrap_or_default()
        ));
    }
    if kernels.kernels.len() > KERNELS_SHOWN {
        lines.push(format!(
            "  … and {} more",
            kernels.kernels.len() - KERNELS_SHOWN
        ));
    }
    lines.join("\n")
}

fn parts_text(parts: &Parts) -> String {
    let mut lines = vec![
        format!(
            "\nWork per step, {}: {:.3} GFLOP, {:.3} GB at least; achieved {}",
            parts.source,
            parts.flops_per_step / 1e9,
            parts.bytes_per_step / 1e9,
            parts
                .achieved_flops_per_s
                .map_or(NOT_REPORTED.into(), |rate| format!(
                    "{:.1} GFLOP/s",
                    rate / 1e9
                )),
        ),
        format!(
            "  {:<20} {:>12} {:>12} {:>14} {:>12}",
            "part", "GFLOP", "GB", "FLOP per byte", "device ms"
        ),
    ];
    for part in &parts.parts {
        lines.push(format!(
            "  {:<20} {:>12.4} {:>12.4} {:>14.1} {:>12}",
            part.part,
            part.flops / 1e9,
            part.bytes / 1e9,
            part.flops / part.bytes,
            part.device_ms
                .map_or(NOT_REPORTED.into(), |ms| format!("{ms:.3}")),
        ));
    }
    lines.join("\n")
}

/// `1234567` as `1 234 567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(31_977_984), "31 977 984");
        assert_eq!(grouped(12), "12");
    }
}
