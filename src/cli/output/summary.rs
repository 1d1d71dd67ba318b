//! What a run's end says.

use super::NOT_REPORTED;
use crate::base::units::human_bytes;
use crate::train::event::{Spread, Summary};

pub(super) fn summary_text(summary: &Summary) -> String {
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
