//! An unseen case: the clock stands still while the loss is computed again.

use super::{Target, TargetDescription, TargetKind, v3};
use crate::model::{Recipe, SideWork};

pub const TARGET: Target = Target(&TargetDescription::by_recipe(
    "case4",
    "debugging scenario: an unseen case, later to end than before",
    TargetKind::Case,
    RECIPE,
));

const RECIPE: Recipe = Recipe {
    side_work: SideWork::Evaluate,
    ..v3::RECIPE
};
