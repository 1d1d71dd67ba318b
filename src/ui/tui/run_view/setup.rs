//! The setup of a run: everything that the run reported about itself at its start and at its end.

use ratatui::text::{Line, Span};

use super::state::RunState;
use crate::tui::{Theme, duration, grouped, labelled};
use tinyllama_base::{bytes_or_not, or_not_reported};
use tinyllama_contract::Hello;
use tinyllama_runs::Metric;
use tinyllama_runs::event_text;

/// Columns of the names on the left.
const LABEL: usize = 13;

pub fn lines(state: &RunState, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let Some(hello) = &state.hello else {
        let text = "The run has not reported its setup yet.";
        return vec![Line::styled(text, theme.muted())];
    };
    let mut facts = facts(hello);
    if let Some(ms) = state.first_step_ms {
        let text = format!("{}, compiling and tuning included", duration(ms / 1e3));
        facts.push(("first step", text));
    }
    let summary = state.summary.as_ref();
    if let Some(tokens) = summary.and_then(|summary| summary.tokens_per_s) {
        facts.push(("tokens", Metric::TokensPerS.unit().show(tokens)));
    }
    let facts = facts.into_iter();
    facts
        .flat_map(|(label, text)| labelled(label, LABEL, Span::raw(text), wide, theme))
        .collect()
}

fn facts(hello: &Hello) -> Vec<(&'static str, String)> {
    let config = &hello.config;
    let target = &hello.target;
    let model = format!(
        "{} hidden, {} layers, {} heads, {} kv heads, ffn {}, vocabulary {}",
        config.hidden, config.layers, config.heads, config.kv_heads, config.ffn, config.vocabulary
    );
    let (count, tensors) = (grouped(hello.parameters), hello.parameter_tensors);
    let (batch, tokens) = (config.batch_size, config.sequence_length);
    let (dtype, precision) = (&hello.dtype, &hello.matmul_precision);
    let (steps, warmup) = (hello.steps, hello.warmup);
    let (rate, decay) = (hello.learning_rate, hello.weight_decay);
    let deterministic = match hello.deterministic {
        true => ", deterministic",
        false => "",
    };
    vec![
        (
            "target",
            format!("{target}, by version {} of this program", hello.version),
        ),
        ("device", format!("{} ({})", hello.device, hello.backend)),
        ("architecture", or_not_reported(hello.arch.clone())),
        ("driver", or_not_reported(hello.driver.clone())),
        ("memory", bytes_or_not(hello.device_memory)),
        ("model", model),
        ("parameters", format!("{count} in {tensors} tensors")),
        ("batch", format!("{batch} samples of {tokens} tokens")),
        (
            "numbers",
            format!("{dtype}, matrix products in {precision}"),
        ),
        (
            "steps",
            format!("{steps} measured after {warmup} to warm up"),
        ),
        (
            "optimizer",
            format!("AdamW, learning rate {rate}, weight decay {decay:.3}"),
        ),
        ("data", event_text::data_source(&hello.data)),
        ("seed", format!("{}{deterministic}", hello.seed)),
        ("clock", clock(&hello.synchronize)),
    ]
}

/// Says what the step waits for before it reads the clock.
fn clock(synchronize: &str) -> String {
    match synchronize {
        "phases" => "read after the device has finished each part of a step".to_owned(),
        "step" => "read after the device has finished the whole step".to_owned(),
        "never" => "read without waiting for the device: the host's own time".to_owned(),
        other => format!("synchronized by {other}"),
    }
}
