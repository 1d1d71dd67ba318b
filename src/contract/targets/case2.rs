//! An unseen case: operands stay f32, regardless of the flags.

use super::{Target, TargetDescription, TargetKind, v3};
use crate::model::{OperandTypes, Recipe};

pub const TARGET: Target = Target(&TargetDescription::by_recipe(
    "case2",
    "debugging scenario: an unseen case, no faster than before",
    TargetKind::Case,
    RECIPE,
));

const RECIPE: Recipe = Recipe {
    operands: OperandTypes::Single,
    ..v3::RECIPE
};
