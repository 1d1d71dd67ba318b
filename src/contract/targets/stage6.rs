//! v3 without the backward pass of its kernels.

use super::{Description, Kind, Target, stage5};
use crate::model::{Backward, Recipe};

pub const TARGET: Target = Target(&Description::by_recipe(
    "stage6",
    "debugging scenario, bonus: the fastest of all, and what is wrong with it",
    Kind::Stage,
    RECIPE,
));

const RECIPE: Recipe = Recipe {
    backward: Backward::Missing,
    ..stage5::RECIPE
};
