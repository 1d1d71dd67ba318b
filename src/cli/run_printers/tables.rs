//! The tables of the profile pass.

use tinyllama_base::table::shortened;
use tinyllama_base::units::{number_or_not, or_not_reported};
use tinyllama_contract::event::{Kernels, Parts};

/// Width of a kernel's name in a line of 80 characters.
const NAME: usize = 33;

/// Kernels in the table for people. The event stream has all.
const KERNELS_SHOWN: usize = 15;

pub(super) fn kernels_text(kernels: &Kernels) -> String {
    let time = |ms| number_or_not(ms, 3);
    let (steps, launches) = (kernels.steps, kernels.launches_per_step);
    let [device, span] = [kernels.device_ms_per_step, kernels.span_ms_per_step].map(time);
    let mut lines = vec![
        format!(
            "\nKernels, per step over {steps} profiled step(s): {launches:.0} launches,\n{device} ms of device time, {span} ms from first to last"
        ),
        format!("  {:>12} {:>9}  {:<20} kernel", "ms", "launches", "part"),
    ];
    for kernel in kernels.kernels.iter().take(KERNELS_SHOWN) {
        let fused = kernel.fused_operations.filter(|count| *count > 1.0);
        let fused = fused.map_or(String::new(), |count| format!(" ({count:.0} operations)"));
        // Shortens the middle, because both ends of a name matter. The event stream has the whole name.
        let name = shortened(&kernel.name, NAME.saturating_sub(fused.len()));
        let (ms, part) = (time(kernel.device_ms_per_step), &kernel.part);
        let launches = kernel.launches_per_step;
        lines.push(format!(
            "  {ms:>12} {launches:>9.1}  {part:<20} {name}{fused}"
        ));
    }
    let more = kernels.kernels.len().saturating_sub(KERNELS_SHOWN);
    if more > 0 {
        lines.push(format!("  … and {more} more"));
    }
    lines.join("\n")
}

pub(super) fn parts_text(parts: &Parts) -> String {
    let achieved = parts.achieved_flops_per_s;
    let achieved = or_not_reported(achieved.map(|rate| format!("{:.1} GFLOP/s", rate / 1e9)));
    let (flops, bytes) = (parts.flops_per_step / 1e9, parts.bytes_per_step / 1e9);
    let mut lines = vec![
        format!(
            "\nWork per step, {}:\n{flops:.3} GFLOP, {bytes:.3} GB at least; achieved {achieved}",
            parts.source
        ),
        format!(
            "  {:<20} {:>12} {:>12} {:>14} {:>12}",
            "part", "GFLOP", "GB", "FLOP per byte", "device ms"
        ),
    ];
    for part in &parts.parts {
        let (name, ms) = (&part.part, number_or_not(part.device_ms, 3));
        let (flops, bytes, ratio) = (part.flops / 1e9, part.bytes / 1e9, part.flops / part.bytes);
        lines.push(format!(
            "  {name:<20} {flops:>12.4} {bytes:>12.4} {ratio:>14.1} {ms:>12}"
        ));
    }
    lines.join("\n")
}
