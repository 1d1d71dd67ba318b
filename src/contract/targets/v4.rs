//! Ultra: a training step without a tape, scheduled by hand.

use super::engine_kind::EngineKind;
use super::{Description, Kind, Target, v3};
use crate::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "v4",
    summary: "ultra: no tape, the whole step scheduled by hand, the vendor's products, replayed as a graph",
    kind: Kind::Version,
    recipe: v3::RECIPE,
    // A graph is one piece: waiting inside it would mean doing without.
    timing: Synchronize::Step,
    engine: EngineKind::Scheduled,
});

/// The name that sums over ranks have among kernels.
pub const SUM: &str = "all_reduce";

/// How often each byte passes a GPU's link where a ring of `ranks` sums: every part goes round once to be summed and once
/// to be told, past all GPUs but its owner.
pub fn ring_share(ranks: usize) -> f64 {
    2.0 * (ranks.max(1) - 1) as f64 / ranks.max(1) as f64
}
