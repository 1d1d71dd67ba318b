//! The tables of the profile pass.

use crate::base::table::shortened;
use crate::base::units::{number_or_not, or_not_reported};
use crate::train::event::{Kernels, Parts};

/// Columns of a kernel's name, so that a line has 80.
const NAME: usize = 33;

/// Kernels shown in the table for people; the event stream has all.
const KERNELS_SHOWN: usize = 15;

pub(super) fn kernels_text(kernels: &Kernels) -> String {
    let time = |ms| number_or_not(ms, 3);
    let mut lines = vec![
        format!(
            "\nKernels, per step over {} profiled step(s): {:.0} launches,\n{} ms of device time, {} ms from first to last",
            kernels.steps,
            kernels.launches_per_step,
            time(kernels.device_ms_per_step),
            time(kernels.span_ms_per_step)
        ),
        format!("  {:>12} {:>9}  {:<20} kernel", "ms", "launches", "part"),
    ];
    for kernel in kernels.kernels.iter().take(KERNELS_SHOWN) {
        let fused = kernel.fused_operations.filter(|count| *count > 1.0);
        let fused = fused.map_or(String::new(), |count| format!(" ({count:.0} operations)"));
        // Both ends of a name tell kernels apart; the event stream has all of it.
        let room = NAME.saturating_sub(fused.len());
        lines.push(format!(
            "  {:>12} {:>9.1}  {:<20} {}{fused}",
            time(kernel.device_ms_per_step),
            kernel.launches_per_step,
            kernel.part,
            shortened(&kernel.name, room),
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

pub(super) fn parts_text(parts: &Parts) -> String {
    let achieved = parts.achieved_flops_per_s;
    let mut lines = vec![
        format!(
            "\nWork per step, {}:\n{:.3} GFLOP, {:.3} GB at least; achieved {}",
            parts.source,
            parts.flops_per_step / 1e9,
            parts.bytes_per_step / 1e9,
            or_not_reported(achieved.map(|rate| format!("{:.1} GFLOP/s", rate / 1e9))),
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
            number_or_not(part.device_ms, 3),
        ));
    }
    lines.join("\n")
}
