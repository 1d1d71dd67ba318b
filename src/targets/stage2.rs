//! Keys and values repeated and read across their rows.

use super::autodiff::Autodiff;
use super::{Description, Kind, Target, stage3};
use crate::model::{KeyValue, Recipe};
use crate::train::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "stage2",
    summary: "debugging scenario: the loss is right, the time is not",
    kind: Kind::Stage,
    recipe: RECIPE,
    timing: Synchronize::HostParts,
    engine: &Autodiff::BY_RECIPE,
});

pub const RECIPE: Recipe = Recipe {
    key_value: KeyValue::RepeatedTransposed,
    ..stage3::RECIPE
};
