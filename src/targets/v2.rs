//! Fused projections, flash attention, and neighbouring operations fused by burn.

use super::autodiff::Autodiff;
use super::{Description, Kind, Target};
use crate::model::{Attention, Projection, Recipe};
use crate::train::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "v2",
    summary: "fused: one QKV and one gate-up product, flash attention, neighbouring operations fused by burn",
    kind: Kind::Version,
    recipe: RECIPE,
    timing: Synchronize::Phases,
    engine: &Autodiff::BY_RECIPE,
});

pub const RECIPE: Recipe = Recipe {
    qkv: Projection::Fused,
    gate_up: Projection::Fused,
    attention: Attention::Kernel,
    graph_fusion: true,
    ..Recipe::BASELINE
};
