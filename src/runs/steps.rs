//! The steps of a run as a table.

use tinyllama_base::{TableColumns, human_bytes, number};
use tinyllama_contract::Step;

/// Builds a table of what each step reported, in the given order. Columns that no step has are left out.
pub fn table(title: String, steps: &[Step]) -> TableColumns<'_, Step> {
    TableColumns::titled(title, steps)
        .right("step", |step| step.n.to_string())
        .right("loss", |step| format!("{:.4}", step.loss))
        .right("ms", |step| format!("{:.2}", step.total_ms))
        .right("forward", |step| number(step.forward_ms, 2))
        .right("backward", |step| number(step.backward_ms, 2))
        .right("update", |step| number(step.optimizer_ms, 2))
        .right("samples/s", |step| format!("{:.1}", step.samples_per_s))
        .right("launches", |step| {
            step.launches.map(|count| count.to_string())
        })
        .right("memory", |step| {
            step.bytes_in_use.or(step.bytes_reserved).map(human_bytes)
        })
        .left("counted", |step| {
            if step.measured { "yes" } else { "warm-up" }.to_owned()
        })
}
