//! This project's kernels, with the library's matrix products.

use super::autodiff::Autodiff;
use super::{Description, Kind, Target, v2};
use crate::model::{Operations, Recipe, Swiglu};
use crate::train::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "v3",
    summary: "kernels: own norm, attention, activation, loss and optimizer, library products",
    kind: Kind::Version,
    recipe: RECIPE,
    timing: Synchronize::Phases,
    engine: &Autodiff::BY_RECIPE,
});

pub const RECIPE: Recipe = Recipe {
    operations: Operations::Kernels,
    swiglu: Swiglu::Kernel,
    ..v2::RECIPE
};
