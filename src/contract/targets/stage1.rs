//! Wrong from the start: nothing sets the initial weights.

use super::{Description, Kind, Target, stage2};
use crate::model::{Initialisation, Recipe};

pub const TARGET: Target = Target(
    &Description::by_recipe(
        "stage1",
        "debugging scenario: the loss is not what it should be",
        Kind::Stage,
        RECIPE,
    )
    .timed_by_host(),
);

/// The stages are read backwards: each adds one mistake to the one after it.
const RECIPE: Recipe = Recipe {
    initialisation: Initialisation::Default,
    ..stage2::RECIPE
};
