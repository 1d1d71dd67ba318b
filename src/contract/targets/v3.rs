//! This project's kernels with the library's matrix products.

use super::{Target, TargetDescription, TargetKind, v2};
use crate::model::{Operations, Recipe, Swiglu};

pub const TARGET: Target = Target(&TargetDescription::by_recipe(
    "v3",
    "kernels: own norm, attention, activation, loss and optimizer, library products",
    TargetKind::Version,
    RECIPE,
));

pub const RECIPE: Recipe = Recipe {
    operations: Operations::Kernels,
    swiglu: Swiglu::Kernel,
    ..v2::RECIPE
};
