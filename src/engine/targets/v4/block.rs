//! Compares a block in one launch with the schedule's launches, and states the verdict.

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
    let measured = single_block(driver, &options.config, weights, precision, tokens)?;
    Ok(Block {
        verdict: verdict(&measured),
        ..measured
    })
}

fn verdict(block: &Block) -> String {
    let ratio = block.single_ms / block.schedule_ms;
    let launches = block.schedule_launches;
    let speed = if ratio >= 1.0 {
        format!("takes {ratio:.1} times as long as the {launches} launches of the schedule")
    } else {
        let faster = 1.0 / ratio;
        format!("is {faster:.1} times as fast as the {launches} launches of the schedule")
    };
    let again = 100.0 * block.recomputed_flops / block.flops;
    let reads = block.weight_bytes_read / block.weight_bytes;
    let (working, units) = (
        block.thread_blocks.min(block.compute_units),
        block.compute_units,
    );
    let price = format!(
        "it computes {again:.0} % more, because thread blocks cannot share keys and values, fetches every weight {reads:.0} \
         times instead of once, and has work for {working} of {units} compute units"
    );
    let close = if ratio >= 1.0 {
        "A graph has made launches cheap already: what is left to save is far less than this costs."
    } else {
        "That holds for this size; at a larger one the price grows with it."
    };
    format!("One launch for the whole block {speed}: {price}. {close}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(single_ms: f64) -> Block {
        Block {
            single_ms,
            schedule_ms: 0.05,
            schedule_launches: 7,
            difference: 1e-3,
            flops: 8e9,
            recomputed_flops: 2e9,
            weight_bytes_read: 64e6,
            weight_bytes: 1e6,
            thread_blocks: 64,
            compute_units: 132,
            verdict: String::new(),
        }
    }

    #[test]
    fn the_verdict_says_which_is_faster_and_why() {
        let slower = verdict(&measured(1.0));
        for part in [
            "20.0 times as long",
            "7 launches",
            "25 % more",
            "64 times",
            "64 of 132",
        ] {
            assert!(slower.contains(part), "{part} in {slower}");
        }
        let faster = verdict(&measured(0.025));
        assert!(faster.contains("2.0 times as"), "{faster}");
        assert!(!faster.contains("as long"), "{faster}");
    }
}
