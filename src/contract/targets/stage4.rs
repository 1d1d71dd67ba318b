//! A naive kernel computes the activation and the products before it.

use super::{Description, Kind, Target, stage5};
use crate::model::{Projection, Recipe, Swiglu};

pub const TARGET: Target = Target(&Description::by_recipe(
    "stage4",
    "debugging scenario: measured properly, and one kernel stands out",
    Kind::Stage,
    RECIPE,
));

pub const RECIPE: Recipe = Recipe {
    swiglu: Swiglu::Naive,
    gate_up: Projection::Separate,
    ..stage5::RECIPE
};
