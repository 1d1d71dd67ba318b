//! An unseen case: the host reads every gradient in every step.

use super::{Target, TargetDescription, TargetKind, v3};
use crate::model::{Recipe, SideWork};

pub const TARGET: Target = Target(&TargetDescription::by_recipe(
    "case1",
    "debugging scenario: an unseen case, slower than it should be",
    TargetKind::Case,
    RECIPE,
));

const RECIPE: Recipe = Recipe {
    side_work: SideWork::ReadGradients,
    ..v3::RECIPE
};
