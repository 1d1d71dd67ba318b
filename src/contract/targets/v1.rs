//! The baseline.

use super::{Target, TargetDescription, TargetKind};
use crate::model::Recipe;

pub const TARGET: Target = Target(&TargetDescription::by_recipe(
    "v1",
    "baseline: separate projections, materialised attention, no fusion",
    TargetKind::Version,
    Recipe::BASELINE,
));
