//! Names of the ranges that a run marks for profilers.

/// The range of one training step.
pub const STEP: &str = "step";
/// The range of all counted steps.
pub const COUNTED: &str = "counted steps";
