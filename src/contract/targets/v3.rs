//! This project's kernels with the library's matrix products.

use super::{Description, Kind, Target, v2};
use crate::model::{Operations, Recipe, Swiglu};

pub const TARGET: Target = Target(&Description::by_recipe(
    "v3",
    "kernels: own norm, attention, activation, loss and optimizer, library products",
    Kind::Version,
    RECIPE,
));

pub const RECIPE: Recipe = Recipe {
    operations: Operations::Kernels,
    swiglu: Swiglu::Kernel,
    ..v2::RECIPE
};
