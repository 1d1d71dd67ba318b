//! A case nobody has seen: the host reads every gradient in every step.

use super::autodiff::Autodiff;
use super::{Description, Kind, Target, v3};
use crate::model::{HostRead, Recipe};
use crate::train::Synchronize;

pub const TARGET: Target = Target(&Description {
    name: "case1",
    summary: "debugging scenario: an unseen case, slower than it should be",
    kind: Kind::Case,
    recipe: RECIPE,
    timing: Synchronize::Phases,
    engine: &Autodiff::BY_RECIPE,
});

const RECIPE: Recipe = Recipe {
    host_read: HostRead::Gradients,
    ..v3::RECIPE
};
