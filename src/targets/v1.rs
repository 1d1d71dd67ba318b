//! The baseline.

use super::autodiff::Autodiff;
use super::{Description, Kind, Target};
use crate::model::Recipe;
use crate::train::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "v1",
    summary: "baseline: separate projections, materialised attention, no fusion",
    kind: Kind::Version,
    recipe: Recipe::BASELINE,
    timing: Synchronize::Phases,
    engine: &Autodiff::BY_RECIPE,
});
