//! Ultra: a training step with a hand-made schedule and without a tape.

use super::engine_kind::EngineKind;
use super::{Target, TargetDescription, TargetKind, v3};
use crate::Synchronize;

pub const TARGET: Target = Target(&TargetDescription {
    name: "v4",
    summary: "ultra: no tape, the whole step scheduled by hand, the vendor's products, replayed as a graph",
    kind: TargetKind::Version,
    recipe: v3::RECIPE,
    // A graph runs as one piece. Waiting inside it would prevent its use.
    timing: Synchronize::Step,
    engine: EngineKind::Scheduled,
});

/// Names of sums over ranks in lists of kernels: whole sums, sums of which each rank gets a part, and the exchange of
/// updated parts.
pub const SUM: &str = "all_reduce";
pub const SCATTER: &str = "reduce_scatter";
pub const GATHER: &str = "all_gather";
pub const EXCHANGES: [&str; 3] = [SUM, SCATTER, GATHER];

/// How often each byte passes a GPU's link when `ranks` GPUs sum in a ring. Every part goes round twice: once to be
/// summed and once to be distributed. Each round passes all GPUs except the owner.
pub fn ring_share(ranks: usize) -> f64 {
    2.0 * (ranks.max(1) - 1) as f64 / ranks.max(1) as f64
}
