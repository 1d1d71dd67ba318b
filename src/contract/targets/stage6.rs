//! v3 without the backward pass of its kernels.

use super::{Target, TargetDescription, TargetKind, stage5};
use crate::model::{Backward, Recipe};

pub const TARGET: Target = Target(&TargetDescription::by_recipe(
    "stage6",
    "debugging scenario, bonus: the fastest of all, and what is wrong with it",
    TargetKind::Stage,
    RECIPE,
));

const RECIPE: Recipe = Recipe {
    backward: Backward::Missing,
    ..stage5::RECIPE
};
