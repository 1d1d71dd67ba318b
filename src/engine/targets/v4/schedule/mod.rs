//! The training step as a list of launches, written once for every executor.
//!
//! There is no tape: the backward pass is written out. Every weight's gradient is a separate product, and only the update
//! waits for it. So these products run on a second lane, next to the chain from the loss back to the embedding.

mod builder;
mod dependencies;
mod passes;
mod sums;
#[cfg(test)]
mod tests;

use crate::model::{ModelConfig, Part};

use super::buffers::{BufferHandle, Buffers};
use super::layout::ParameterLayout;
use super::operation::{MatrixProduct, Operation};
use super::shards::Shards;
use builder::ScheduleBuilder;
pub use sums::Sums;

/// The third of a step to which a launch belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepPhase {
    Forward,
    Backward,
    Optimizer,
}

impl StepPhase {
    pub fn name(self) -> &'static str {
        match self {
            StepPhase::Forward => "forward",
            StepPhase::Backward => "backward",
            StepPhase::Optimizer => "optimizer",
        }
    }
}

/// One launch of the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub operation: Operation,
    pub part: Part,
    pub phase: StepPhase,
    /// Launches of one lane run in order, different lanes run concurrently.
    pub lane: usize,
    /// Earlier nodes of other lanes that have to be done first.
    pub after: Vec<usize>,
}

impl Node {
    /// Returns the part under which work is counted: the backward pass is one part, and all norms together are another.
    pub fn counted_part(&self) -> Part {
        match (self.phase, &self.operation) {
            (StepPhase::Forward, Operation::Normalize(_)) => Part::Norm,
            (StepPhase::Forward, _) => self.part,
            (StepPhase::Backward, _) => Part::Backward,
            (StepPhase::Optimizer, _) => Part::Optimizer,
        }
    }
}

/// How the launches of a step are spread over lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// 1: everything in order. 2: gradients of weights and updates run next to the main chain. 3: updates also get
    /// their own lane.
    pub lanes: usize,
    /// Updates parameters as soon as their gradients are complete, instead of all at the end in one launch.
    pub update_early: bool,
    /// Number of layers whose weights' gradients are computed together. More layers fill a large device better and keep
    /// more intermediate results.
    pub layers_together: usize,
}

impl Concurrency {
    /// One launch after the other, and one update for all.
    pub const NONE: Concurrency = Concurrency {
        lanes: 1,
        update_early: false,
        layers_together: 1,
    };
}
/// Places in the ring of losses: the number of steps after which a loss is overwritten.
pub const LOSS_RING: usize = 256;

/// Returns the last `count` losses that `runs` runs have left in a ring, oldest first.
pub fn latest(ring: &[f32], runs: usize, count: usize) -> Vec<f32> {
    let first = runs - count.min(LOSS_RING).min(runs);
    (first..runs).map(|run| ring[run % LOSS_RING]).collect()
}

/// Numbers from which an update is computed; see [`Advance`](super::operation::Advance).
pub const FACTORS: usize = 8;
/// A complete step, before it is bound to a device.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub config: ModelConfig,
    pub layout: ParameterLayout,
    pub buffers: Buffers,
    pub nodes: Vec<Node>,
    pub lanes: usize,
    /// Tokens of each partial sum of `NormalizeBackward`.
    pub tokens_per_partial: usize,
    pub tokens: BufferHandle,
    pub targets: BufferHandle,
    pub logits: BufferHandle,
    /// The residual stream before each block, and after the last.
    pub streams: Vec<BufferHandle>,
    /// See `LOSS_RING`; followed by the count of losses as an integer.
    pub losses: BufferHandle,
    /// See `FACTORS`; followed by the count of updates as an integer.
    pub factors: BufferHandle,
    /// Set if gradients are summed over ranks; the batch is then a rank's share.
    pub sums: Option<Sums>,
    /// Set if each rank updates a part of the blocks' matrices.
    pub shards: Option<Shards>,
}

impl Schedule {
    pub fn new(config: &ModelConfig, concurrency: Concurrency) -> Schedule {
        Schedule::over_ranks(config, concurrency, None)
    }

    /// Builds the schedule of one of several ranks; `config` has its share of the batch.
    pub fn over_ranks(
        config: &ModelConfig,
        concurrency: Concurrency,
        sums: Option<Sums>,
    ) -> Schedule {
        ScheduleBuilder::new(config, concurrency, sums).build()
    }

    /// Returns the number of ranks whose batches make up the whole one.
    pub fn ranks(&self) -> usize {
        self.sums.map_or(1, |sums| sums.ranks)
    }

    /// Returns the products of a step by shape, each with its count. Products of several layers in one launch count separately.
    pub fn products(&self) -> Vec<(MatrixProduct, usize)> {
        let mut kinds: Vec<(MatrixProduct, usize)> = Vec::new();
        for product in self.nodes.iter().flat_map(|node| node.operation.products()) {
            let alike = |other: &MatrixProduct| {
                let shape = |product: &MatrixProduct| {
                    let transposed = (product.a_transposed, product.b_transposed);
                    (product.m, product.n, product.k, transposed)
                };
                shape(other) == shape(product)
            };
            match kinds.iter_mut().find(|(kind, _)| alike(kind)) {
                Some((_, count)) => *count += 1,
                None => kinds.push((*product, 1)),
            }
        }
        kinds
    }

    /// Returns the number of partial sums of a norm.
    pub fn partials(&self) -> usize {
        self.config.tokens().div_ceil(self.tokens_per_partial)
    }
}
