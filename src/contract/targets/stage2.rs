//! Keys and values are repeated, and kernels read across their rows.

use super::{Target, TargetDescription, TargetKind, stage3};
use crate::model::{KeyValue, Recipe};

pub const TARGET: Target = Target(
    &TargetDescription::by_recipe(
        "stage2",
        "debugging scenario: the loss is right, the time is not",
        TargetKind::Stage,
        RECIPE,
    )
    .timed_by_host(),
);

pub const RECIPE: Recipe = Recipe {
    key_value: KeyValue::RepeatedTransposed,
    ..stage3::RECIPE
};
