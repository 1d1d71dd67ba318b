//! Fused projections, flash attention, and neighbouring operations fused by burn.

use super::{Target, TargetDescription, TargetKind};
use crate::model::{Attention, Projection, Recipe};

pub const TARGET: Target = Target(&TargetDescription::by_recipe(
    "v2",
    "fused: one QKV and one gate-up product, flash attention, neighbouring operations fused by burn",
    TargetKind::Version,
    RECIPE,
));

pub const RECIPE: Recipe = Recipe {
    qkv: Projection::Fused,
    gate_up: Projection::Fused,
    attention: Attention::Kernel,
    graph_fusion: true,
    ..Recipe::BASELINE
};
