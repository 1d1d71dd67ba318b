//! Wrong from the start: nothing sets the initial weights.

use super::autodiff::Autodiff;
use super::{Description, Kind, Target, stage2};
use crate::model::{Initialisation, Recipe};
use crate::train::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "stage1",
    summary: "debugging scenario: the loss is not what it should be",
    kind: Kind::Stage,
    recipe: RECIPE,
    timing: Synchronize::HostParts,
    engine: &Autodiff::BY_RECIPE,
});

/// The stages are read backwards: each adds one mistake to the one after it.
const RECIPE: Recipe = Recipe {
    initialisation: Initialisation::Default,
    ..stage2::RECIPE
};
