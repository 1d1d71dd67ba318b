//! Shows a run as lines for people.

use std::io::{self, IsTerminal, Write};

use console::Term;
use indicatif::{ProgressBar, ProgressStyle};

use super::summary::summary_text;
use super::tables::{kernels_text, parts_text};
use tinyllama_base::units::{duration, grouped, human_bytes};
use tinyllama_contract::event::{Body, Event, Hello, Step};
use tinyllama_engine::train::EventSink;
use tinyllama_runs::event_text;

/// `None` without a terminal, because a spinner only clutters a log file.
pub fn spinner() -> Option<ProgressBar> {
    io::stderr().is_terminal().then(|| {
        let style = ProgressStyle::with_template("{spinner} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
            .tick_chars("|/-\\ ");
        ProgressBar::new_spinner().with_style(style)
    })
}

/// Lines for people: progress on the error stream if it is a terminal, results on the output.
pub struct LinePrinter<W: Write + Send> {
    out: W,
    progress: ProgressBar,
    /// True once the headings of the step lines are printed.
    has_header: bool,
}

impl<W: Write + Send> LinePrinter<W> {
    pub fn new(out: W) -> Self {
        LinePrinter {
            out,
            progress: spinner().unwrap_or_else(ProgressBar::hidden),
            has_header: false,
        }
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        let LinePrinter { out, progress, .. } = self;
        progress.suspend(|| {
            writeln!(out, "{text}")?;
            out.flush()
        })?;
        self.cursor_home()
    }

    /// Moves the cursor to the left edge. The bar ends at the right edge, where a terminal's `^C` would start a new
    /// line. The program would then clear that line instead of the bar.
    fn cursor_home(&self) -> io::Result<()> {
        match self.progress.is_hidden() {
            true => Ok(()),
            false => Term::stderr().write_str("\r"),
        }
    }
}

impl<W: Write + Send> EventSink for LinePrinter<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match &event.body {
            Body::Hello(hello) => self.print(&hello_text(hello)),
            Body::Phase(phase) => {
                let eta = phase.eta_s.map(|s| format!(", about {} left", duration(s)));
                let eta = eta.unwrap_or_default();
                self.progress.set_message(format!("{}{eta}", phase.message));
                self.progress.tick();
                self.cursor_home()
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
            Body::Note(note) => self.print(&format!("note: {}", note.message)),
            Body::Summary(summary) => {
                self.progress.finish_and_clear();
                // A run that failed before its first step has no figures to summarise.
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
            body => {
                event_text::remark(body).map_or(Ok(()), |text| self.print(&format!("\n{text}")))
            }
        }
    }
}

fn hello_text(hello: &Hello) -> String {
    let config = &hello.config;
    let (hidden, layers, ffn, vocabulary) =
        (config.hidden, config.layers, config.ffn, config.vocabulary);
    let (heads, kv_heads) = (config.heads, config.kv_heads);
    let (parameters, tensors) = (grouped(hello.parameters), hello.parameter_tensors);
    let mut lines = vec![
        format!("{} on {} ({})", hello.target, hello.device, hello.backend),
        format!(
            "  {hidden} hidden, {layers} layers, {heads} heads, {kv_heads} kv heads, ffn {ffn}, vocabulary {vocabulary}\n  {parameters} parameters in {tensors} tensors"
        ),
        format!(
            "  batch {} x {} tokens, {} steps to warm up (w) + {}, seed {}",
            config.batch_size, config.sequence_length, hello.warmup, hello.steps, hello.seed
        ),
        format!("  products in {}", hello.matmul_precision),
    ];
    lines.extend(hello.ranks.as_ref().map(|plan| {
        let when = match plan.overlap {
            true => "while the backward pass goes on",
            false => "after the backward pass",
        };
        format!(
            "  {} GPUs with {} samples each; {} of gradients summed, at least {} at once, {when}",
            plan.ranks,
            config.batch_size / plan.ranks.max(1),
            human_bytes(plan.gradient_bytes),
            human_bytes(plan.bucket_bytes),
        )
    }));
    lines.push(format!("  data: {}", event_text::data_source(&hello.data)));
    lines.join("\n")
}

/// The step's columns after number, loss and time, each with heading and width. All columns together take at most 80
/// characters. So the rate, which follows from the time, is dropped for launches and memory.
fn columns(step: &Step) -> Vec<(&'static str, usize, String)> {
    let mut columns = Vec::new();
    for (name, ms) in [
        ("forward", step.forward_ms),
        ("backward", step.backward_ms),
        ("update", step.optimizer_ms),
    ] {
        columns.extend(ms.map(|ms| (name, 9, format!("{ms:.2}"))));
    }
    if step.launches.is_none() && step.bytes_in_use.is_none() {
        columns.push(("samples/s", 10, format!("{:.1}", step.samples_per_s)));
    }
    let launches = step.launches.map(|launches| launches.to_string());
    columns.extend(launches.map(|text| ("launches", 8, text)));
    let memory = step.bytes_in_use.map(human_bytes);
    columns.extend(memory.map(|text| ("memory", 10, text)));
    columns
}

fn step_header(step: &Step) -> String {
    let mut line = format!("{:>10} {:>8} {:>9}", "step", "loss", "ms");
    for (name, width, _) in columns(step) {
        line += &format!(" {name:>width$}");
    }
    line
}

fn step_text(step: &Step) -> String {
    let warmup = if step.measured { " " } else { "w" };
    let (at, loss, ms) = (format!("{}/{}", step.n, step.of), step.loss, step.total_ms);
    let mut line = format!("{warmup}{at:>9} {loss:>8.4} {ms:>9.2}");
    for (_, width, text) in columns(step) {
        line += &format!(" {text:>width$}");
    }
    line
}
