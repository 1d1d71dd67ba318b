//! A case nobody has seen: operands stay f32, whatever was asked for.

use super::autodiff::Autodiff;
use super::{Description, Kind, Target, v3};
use crate::model::{OperandTypes, Recipe};
use crate::train::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "case2",
    summary: "debugging scenario: an unseen case, no faster than before",
    kind: Kind::Case,
    recipe: RECIPE,
    timing: Synchronize::Phases,
    engine: &Autodiff::BY_RECIPE,
});

const RECIPE: Recipe = Recipe {
    operands: OperandTypes::Single,
    ..v3::RECIPE
};
