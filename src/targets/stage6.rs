//! v3 without the backward pass of its kernels.

use super::autodiff::Autodiff;
use super::{Description, Kind, Target, stage5};
use crate::model::{Backward, Recipe};
use crate::train::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "stage6",
    summary: "debugging scenario, bonus: the fastest of all, and what is wrong with it",
    kind: Kind::Stage,
    recipe: RECIPE,
    timing: Synchronize::Phases,
    engine: &Autodiff::BY_RECIPE,
});

const RECIPE: Recipe = Recipe {
    backward: Backward::Missing,
    ..stage5::RECIPE
};
