//! An unseen case: past gradients stay on the device.

use super::{Target, TargetDescription, TargetKind, v3};
use crate::model::{Recipe, SideWork};

pub const TARGET: Target = Target(&TargetDescription::by_recipe(
    "case3",
    "debugging scenario: an unseen case, more memory than before",
    TargetKind::Case,
    RECIPE,
));

const RECIPE: Recipe = Recipe {
    side_work: SideWork::KeepGradients,
    ..v3::RECIPE
};
