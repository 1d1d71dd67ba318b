//! Compares a block in one launch with the schedule's launches.

use anyhow::Result;

use super::device::single_block;
use super::platform::Platform;
use crate::model::Weights;
use crate::train::event::Block;
use crate::train::{Batch, TrainingOptions};

/// Runs the forward pass of a block both ways and compares.
///
/// # Errors
/// Errors of the device, or a model that the kernel does not cover.
pub fn compare(
    platform: &Platform,
    options: &TrainingOptions,
    weights: &Weights,
    batch: &Batch,
) -> Result<Block> {
    let driver = platform.driver("--block single")?;
    let precision = platform.precision(options)?;
    let tokens = (&batch.tokens[..], &batch.targets[..]);
    single_block(driver, &options.config, weights, precision, tokens)
}
