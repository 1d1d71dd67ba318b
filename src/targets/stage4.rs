//! A naive kernel for the activation and the products before it.

use super::autodiff::Autodiff;
use super::{Description, Kind, Target, stage5};
use crate::model::{Projection, Recipe, Swiglu};
use crate::train::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "stage4",
    summary: "debugging scenario: measured properly, and one kernel stands out",
    kind: Kind::Stage,
    recipe: RECIPE,
    timing: Synchronize::Phases,
    engine: &Autodiff::BY_RECIPE,
});

pub const RECIPE: Recipe = Recipe {
    swiglu: Swiglu::Naive,
    gate_up: Projection::Separate,
    ..stage5::RECIPE
};
