//! The baseline.

use super::{Description, Kind, Target};
use crate::model::Recipe;

pub const TARGET: Target = Target(&Description::by_recipe(
    "v1",
    "baseline: separate projections, materialised attention, no fusion",
    Kind::Version,
    Recipe::BASELINE,
));
