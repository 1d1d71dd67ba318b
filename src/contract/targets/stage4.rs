//! A naive kernel computes the activation and the products before it.

use super::{Target, TargetDescription, TargetKind, stage5};
use crate::model::{Projection, Recipe, Swiglu};

pub const TARGET: Target = Target(&TargetDescription::by_recipe(
    "stage4",
    "debugging scenario: measured properly, and one kernel stands out",
    TargetKind::Stage,
    RECIPE,
));

pub const RECIPE: Recipe = Recipe {
    swiglu: Swiglu::Naive,
    gate_up: Projection::Separate,
    ..stage5::RECIPE
};
