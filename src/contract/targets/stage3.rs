//! The clock does not wait for the device.

use super::{Target, TargetDescription, TargetKind, stage4};
use crate::model::Recipe;

pub const TARGET: Target = Target(
    &TargetDescription::by_recipe(
        "stage3",
        "debugging scenario: faster, but the parts of a step do not add up",
        TargetKind::Stage,
        RECIPE,
    )
    .timed_by_host(),
);

pub const RECIPE: Recipe = stage4::RECIPE;
