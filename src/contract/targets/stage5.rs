//! v3 without mistakes.

use super::{Target, TargetDescription, TargetKind, v3};
use crate::model::Recipe;

pub const TARGET: Target = Target(&TargetDescription::by_recipe(
    "stage5",
    "debugging scenario: solved",
    TargetKind::Stage,
    RECIPE,
));

pub const RECIPE: Recipe = v3::RECIPE;
