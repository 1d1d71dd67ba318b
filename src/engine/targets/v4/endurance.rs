//! Long runs of V4 that must end where they began: replays compared with single launches, and a series of shapes.

use anyhow::{Result, bail};
use serde::Serialize;

use super::schedule::LOSS_RING;
use super::trainer::ScheduleTrainer;
use crate::train::Synchronize;

/// Steps between two comparisons of the losses; both trainers keep [`LOSS_RING`] of them.
const AT_ONCE: usize = LOSS_RING / 2;

/// A batch: tokens, and the token that follows each.
type TokenBatch<'a> = (&'a [i32], &'a [i32]);

/// A step replayed from a graph many times, compared with the same schedule launch by launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replays {
    pub steps: usize,
    /// True if every loss and, at the end, every parameter has the same bits.
    pub identical: bool,
    /// First step with different losses, counted from 1.
    pub first_difference: Option<usize>,
    pub last_loss: f32,
    pub parameters: usize,
}

/// Trains `replayed` and `launched`, which start from the same parameters, for `steps` steps on one batch.
///
/// # Errors
/// Errors of the device; a `replayed` that does not replay.
pub fn replays(
    replayed: &mut ScheduleTrainer,
    launched: &mut ScheduleTrainer,
    batch: TokenBatch<'_>,
    steps: usize,
    progress: &mut dyn FnMut(usize),
) -> Result<Replays> {
    let mut first_difference = None;
    let mut last_loss = f32::NAN;
    let mut done = 0;
    while done < steps {
        let count = AT_ONCE.min(steps - done);
        let losses = advance(replayed, batch, count)?;
        if let Err(why) = replayed.captured() {
            bail!("the step is not replayed from a graph: {why}");
        }
        let expected = advance(launched, batch, count)?;
        let mut pairs = losses.iter().zip(&expected);
        let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
        first_difference = first_difference.or_else(|| Some(done + pairs.position(differs)? + 1));
        last_loss = losses.last().copied().unwrap_or(f32::NAN);
        done += count;
        progress(done);
    }
    let bits = |trainer: &mut ScheduleTrainer| -> Result<Vec<u32>> {
        let weights = trainer.weights()?;
        let all = weights.iter().flat_map(|(_, values)| values);
        Ok(all.map(|value| value.to_bits()).collect())
    };
    let (ours, theirs) = (bits(replayed)?, bits(launched)?);
    Ok(Replays {
        steps,
        identical: first_difference.is_none() && ours == theirs && last_loss.is_finite(),
        first_difference,
        last_loss,
        parameters: ours.len(),
    })
}

fn advance(
    trainer: &mut ScheduleTrainer,
    (tokens, targets): TokenBatch<'_>,
    count: usize,
) -> Result<Vec<f32>> {
    for _ in 0..count {
        trainer.step(tokens, targets, Synchronize::Never)?;
    }
    trainer.last_losses(count)
}

/// Result of a trainer that went through many shapes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReshapeResult {
    pub shapes: usize,
    /// Bytes that this program held at the first shape: before it went through the others, and afterwards.
    pub held_before: u64,
    pub held_after: u64,
    /// Bytes free on the device at these two times; null if the device does not report them.
    pub free_before: Option<u64>,
    pub free_after: Option<u64>,
    /// True if every step had a finite loss and, if requested, a graph.
    pub healthy: bool,
}

impl ReshapeResult {
    /// Returns whether all memory was freed. Other processes may also change the free memory; less than a graph needs
    /// is tolerated.
    pub fn leaked_nothing(&self, tolerated: u64) -> bool {
        let lost = match (self.free_before, self.free_after) {
            (Some(before), Some(after)) => before.saturating_sub(after),
            _ => 0,
        };
        self.held_before == self.held_after && lost <= tolerated
    }
}

/// Takes `trainer` through `shapes` batch sizes and sequence lengths, one step each. After each it returns to its first
/// shape.
///
/// The first shapes are not compared, because libraries load kernels and keep them.
///
/// # Errors
/// Errors of the device.
pub fn reshapes(
    trainer: &mut ScheduleTrainer,
    shapes: usize,
    captured: bool,
    free: &dyn Fn() -> Option<u64>,
    progress: &mut dyn FnMut(usize),
) -> Result<ReshapeResult> {
    let (batch_size, sequence_length) = {
        let config = trainer.config();
        (config.batch_size, config.sequence_length)
    };
    let mut healthy = true;
    let mut step = |trainer: &mut ScheduleTrainer, batch_size: usize, sequence_length: usize| {
        trainer.reshape(batch_size, sequence_length)?;
        let tokens = vec![0; batch_size * sequence_length];
        trainer.step(&tokens, &tokens, Synchronize::Step)?;
        let finite = trainer.last_loss()?.is_finite();
        healthy &= finite && (!captured || trainer.captured().is_ok());
        anyhow::Ok(())
    };
    let settle = (shapes / 5).max(1);
    let held = |trainer: &ScheduleTrainer| trainer.memory().in_use.unwrap_or(0);
    let mut before = (0, None);
    for index in 0..shapes {
        // Every shape differs from the previous one, and most differ from all earlier ones.
        let shape = (
            1 + index * 3 % 7,
            1 + (index * 37 + 16) % (2 * sequence_length),
        );
        step(trainer, shape.0, shape.1)?;
        step(trainer, batch_size, sequence_length)?;
        if index + 1 == settle {
            before = (held(trainer), free());
        }
        progress(index + 1);
    }
    Ok(ReshapeResult {
        shapes,
        held_before: before.0,
        held_after: held(trainer),
        free_before: before.1,
        free_after: free(),
        healthy,
    })
}
