//! The tables of the profile pass.

use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{number, number_or_not, or_not_reported, rate};
use tinyllama_contract::event::{Kernels, Parts};

/// Width of a line for people. Names are shortened to it; the event stream has them whole.
const WIDTH: usize = 80;

/// Kernels in the table for people. The event stream has all.
const KERNELS_SHOWN: usize = 15;

fn text<T>(table: TableColumns<'_, T>) -> String {
    format!("\n{}", TextTable::from(table).render(WIDTH).trim_end())
}

pub(super) fn kernels_text(kernels: &Kernels) -> String {
    let [device, span] = [kernels.device_ms_per_step, kernels.span_ms_per_step];
    let [device, span] = [device, span].map(|ms| number_or_not(ms, 3));
    let table = TableColumns::titled("Kernels, per step", &kernels.kernels)
        .first(KERNELS_SHOWN)
        .left("kernel", |kernel| {
            let fused = kernel.fused_operations.filter(|count| *count > 1.0);
            let fused = fused.map_or(String::new(), |count| format!(" ({count:.0} operations)"));
            format!("{}{fused}", kernel.name)
        })
        .left("part", |kernel| kernel.part.clone())
        .right("launches", |kernel| format!("{:.1}", kernel.launches_per_step))
        .right("ms", |kernel| number(kernel.device_ms_per_step, 3))
        .note(format!(
            "over {} profiled step(s): {:.0} launches, {device} ms of device time, {span} ms from first to last",
            kernels.steps, kernels.launches_per_step
        ));
    text(match kernels.kernels.len().saturating_sub(KERNELS_SHOWN) {
        0 => table,
        more => table.note(format!("{more} more kernels")),
    })
}

pub(super) fn parts_text(parts: &Parts) -> String {
    let achieved = parts.achieved_flops_per_s.map(|it| rate(it, "FLOP"));
    let table = TableColumns::titled(format!("Work per step, {}", parts.source), &parts.parts)
        .left("part", |part| part.part.clone())
        .right("GFLOP", |part| format!("{:.4}", part.flops / 1e9))
        .right("GB", |part| format!("{:.4}", part.bytes / 1e9))
        .right("FLOP per byte", |part| {
            format!("{:.1}", part.flops / part.bytes)
        })
        .right("device ms", |part| number(part.device_ms, 3))
        .note(format!(
            "{:.3} GFLOP, {:.3} GB at least; achieved {}",
            parts.flops_per_step / 1e9,
            parts.bytes_per_step / 1e9,
            or_not_reported(achieved)
        ));
    text(table)
}
