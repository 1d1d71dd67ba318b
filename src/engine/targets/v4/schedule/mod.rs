//! The training step as a list of launches, written once for every executor.
//!
//! No tape: the backward pass is spelled out. Every weight's gradient is a product of its own that nothing waits for
//! before the update, so those run on a second lane beside the chain from the loss back to the embedding.

mod builder;
mod dependencies;
mod passes;
mod sums;
#[cfg(test)]
mod tests;

use crate::model::{ModelConfig, Part};

use super::buffers::{Buffers, Handle};
use super::layout::Layout;
use super::operation::{Operation, Product};
use builder::Builder;
pub use sums::Sums;

/// Which third of a step a launch belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    Forward,
    Backward,
    Optimizer,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Optimizer => "optimizer",
        }
    }
}

/// One launch of the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub operation: Operation,
    pub part: Part,
    pub phase: Phase,
    /// Launches of one lane run in order, lanes beside each other.
    pub lane: usize,
    /// Earlier nodes of other lanes that have to be done before.
    pub after: Vec<usize>,
}

impl Node {
    /// The part that counted work has it under: the backward pass is one, and so are all norms by themselves.
    pub fn counted_part(&self) -> Part {
        match (self.phase, &self.operation) {
            (Phase::Forward, Operation::Normalize(_)) => Part::Norm,
            (Phase::Forward, _) => self.part,
            (Phase::Backward, _) => Part::Backward,
            (Phase::Optimizer, _) => Part::Optimizer,
        }
    }
}

/// How the launches of a step are spread over lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// 1: everything in order. 2: gradients of weights and updates beside the main chain. 3: updates on a lane of theirs.
    pub lanes: usize,
    /// Update parameters as soon as their gradients are there, instead of all at the end in one launch.
    pub update_early: bool,
    /// Weights' gradients of this many layers are computed together, which fills a large device better than one layer's
    /// and keeps more intermediate results.
    pub layers_together: usize,
}

impl Concurrency {
    /// One launch after the other, one update for all.
    pub const NONE: Concurrency = Concurrency {
        lanes: 1,
        update_early: false,
        layers_together: 1,
    };
}
/// Places in the ring of losses: how many steps may pass before somebody reads them.
pub const LOSS_RING: usize = 256;

/// The last `count` of the losses that `runs` runs have left in a ring, oldest first.
pub fn latest(ring: &[f32], runs: usize, count: usize) -> Vec<f32> {
    let first = runs - count.min(LOSS_RING).min(runs);
    (first..runs).map(|run| ring[run % LOSS_RING]).collect()
}

/// Numbers that an update is worked out with; see [`Advance`](super::operation::Advance).
pub const FACTORS: usize = 8;
/// Everything a step is, before it is tied to a device.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub config: ModelConfig,
    pub layout: Layout,
    pub buffers: Buffers,
    pub nodes: Vec<Node>,
    pub lanes: usize,
    /// Tokens of each partial sum of [`NormalizeBackward`](super::operation::NormalizeBackward).
    pub tokens_per_partial: usize,
    pub tokens: Handle,
    pub targets: Handle,
    pub logits: Handle,
    /// The residual stream before each block, and behind the last.
    pub streams: Vec<Handle>,
    /// See [`LOSS_RING`]; followed by the count of losses as an integer.
    pub losses: Handle,
    /// See [`FACTORS`]; followed by the count of updates as an integer.
    pub factors: Handle,
    /// Where gradients are summed over ranks: the batch is a rank's share then.
    pub sums: Option<Sums>,
}

impl Schedule {
    pub fn new(config: &ModelConfig, concurrency: Concurrency) -> Schedule {
        Schedule::over_ranks(config, concurrency, None)
    }

    /// The schedule of one of several ranks; `config` has its share of the batch.
    pub fn over_ranks(
        config: &ModelConfig,
        concurrency: Concurrency,
        sums: Option<Sums>,
    ) -> Schedule {
        Builder::new(config, concurrency, sums).build()
    }

    /// Ranks whose batches make up the whole one.
    pub fn ranks(&self) -> usize {
        self.sums.map_or(1, |sums| sums.ranks)
    }

    /// The products of a step by shape, each with how many there are; those of several layers together one by one.
    pub fn products(&self) -> Vec<(Product, usize)> {
        let mut kinds: Vec<(Product, usize)> = Vec::new();
        for product in self.nodes.iter().flat_map(|node| node.operation.products()) {
            let alike = |other: &Product| {
                let shape = |product: &Product| {
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

    /// Partial sums of a norm.
    pub fn partials(&self) -> usize {
        self.config.tokens().div_ceil(self.tokens_per_partial)
    }
}
