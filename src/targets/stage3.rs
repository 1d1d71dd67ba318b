//! A clock that does not wait for the device.

use super::autodiff::Autodiff;
use super::{Description, Kind, Target, stage4};
use crate::model::Recipe;
use crate::train::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "stage3",
    summary: "debugging scenario: faster, but the parts of a step do not add up",
    kind: Kind::Stage,
    recipe: RECIPE,
    timing: Synchronize::HostParts,
    engine: &Autodiff::BY_RECIPE,
});

pub const RECIPE: Recipe = stage4::RECIPE;
