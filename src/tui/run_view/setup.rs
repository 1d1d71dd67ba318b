//! What runs, with which numbers: everything the run said of itself at its start, and at its end.

use ratatui::text::{Line, Span};

use super::state::RunState;
use crate::analysis::Metric;
use crate::base::units::human_bytes;
use crate::train::event::{DataSource, Hello};
use crate::tui::panels::text::{NOT_REPORTED, duration, grouped, wrap};
use crate::tui::theme::Theme;

/// Columns of the names on the left.
const LABEL: usize = 13;

pub fn lines(state: &RunState, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let Some(hello) = &state.hello else {
        let text = "The run has not introduced itself yet.";
        return vec![Line::styled(text, theme.muted())];
    };
    let mut facts = facts(hello);
    if let Some(ms) = state.first_step_ms {
        let text = format!("{}, compiling and tuning included", duration(ms / 1e3));
        facts.push(("first step", text));
    }
    if let Some(tokens) = state
        .summary
        .as_ref()
        .and_then(|summary| summary.tokens_per_s)
    {
        facts.push(("tokens", Metric::TokensPerS.unit().show(tokens)));
    }
    let room = usize::from(wide).saturating_sub(LABEL).max(8);
    facts
        .into_iter()
        .flat_map(|(label, text)| {
            let parts = wrap(&text, room).into_iter().enumerate();
            parts.map(move |(at, part)| {
                let label = if at == 0 { label } else { "" };
                Line::from(vec![
                    Span::styled(format!("{label:<LABEL$}"), theme.muted()),
                    Span::raw(part),
                ])
            })
        })
        .collect()
}

fn facts(hello: &Hello) -> Vec<(&'static str, String)> {
    let or_not = |text: Option<String>| text.unwrap_or_else(|| NOT_REPORTED.to_owned());
    let config = &hello.config;
    vec![
        (
            "target",
            format!(
                "{}, by version {} of this program",
                hello.target, hello.version
            ),
        ),
        ("device", format!("{} ({})", hello.device, hello.backend)),
        ("architecture", or_not(hello.arch.clone())),
        ("driver", or_not(hello.driver.clone())),
        ("memory", or_not(hello.device_memory.map(human_bytes))),
        (
            "model",
            format!(
                "{} hidden, {} layers, {} heads, {} kv heads, ffn {}, vocabulary {}",
                config.hidden,
                config.layers,
                config.heads,
                config.kv_heads,
                config.ffn,
                config.vocabulary
            ),
        ),
        (
            "parameters",
            format!(
                "{} in {} tensors",
                grouped(hello.parameters),
                hello.parameter_tensors
            ),
        ),
        (
            "batch",
            format!(
                "{} samples of {} tokens",
                config.batch_size, config.sequence_length
            ),
        ),
        (
            "numbers",
            format!(
                "{}, matrix products in {}",
                hello.dtype, hello.matmul_precision
            ),
        ),
        (
            "steps",
            format!("{} measured after {} to warm up", hello.steps, hello.warmup),
        ),
        (
            "optimizer",
            format!(
                "AdamW, learning rate {}, weight decay {:.3}",
                hello.learning_rate, hello.weight_decay
            ),
        ),
        ("data", data(&hello.data)),
        (
            "seed",
            format!(
                "{}{}",
                hello.seed,
                if hello.deterministic {
                    ", deterministic"
                } else {
                    ""
                }
            ),
        ),
        ("clock", clock(&hello.synchronize)),
    ]
}

/// What a step waits for before the clock is read.
fn clock(synchronize: &str) -> String {
    match synchronize {
        "phases" => "read after the device has finished each part of a step".to_owned(),
        "step" => "read after the device has finished the whole step".to_owned(),
        "never" => "read without waiting for the device: the host's own time".to_owned(),
        other => format!("synchronized by {other}"),
    }
}

fn data(source: &DataSource) -> String {
    match source {
        DataSource::Synthetic => {
            "one batch of random tokens, again and again: it can only be memorised".to_owned()
        }
        DataSource::Text {
            path,
            bytes,
            order_0_entropy,
        } => format!(
            "{path}, {}; a model that ignores context can reach {order_0_entropy:.3} nats",
            human_bytes(*bytes)
        ),
    }
}
