//! The initial weights are wrong: nothing sets them.

use super::{Target, TargetDescription, TargetKind, stage2};
use crate::model::{Initialisation, Recipe};

pub const TARGET: Target = Target(
    &TargetDescription::by_recipe(
        "stage1",
        "debugging scenario: the loss is not what it should be",
        TargetKind::Stage,
        RECIPE,
    )
    .timed_by_host(),
);

/// Each stage adds one mistake to the next stage, so read the stages backwards.
const RECIPE: Recipe = Recipe {
    initialisation: Initialisation::Default,
    ..stage2::RECIPE
};
