//! Sums of gradients over the ranks of a run on several GPUs, and the exchange of the parameters that each rank updated.
//!
//! Gradients are stored in the order of the layout and are complete from the last layer to the first. So a bucket is a
//! range that grows downwards. The gradients of the embedding and of the norms are complete last.
//!
//! Each rank needs the sums of only the blocks' parts that it updates ([`Shards`]). The updated parts are exchanged at
//! the start of the next step, where the forward pass hides what the end of a step could not.

use std::ops::Range;

use super::StepPhase;
use super::builder::ScheduleBuilder;
use super::dependencies::move_up;
use crate::model::Part;
use crate::targets::v4::buffers::BufferHandle;
use crate::targets::v4::layout::{ParameterIndex, ParameterLayout};
use crate::targets::v4::operation::{Gather, Operation, Sum};
use crate::targets::v4::shards::Shards;

/// Ranges of parameters whose gradients are summed together.
#[derive(Clone, Debug)]
pub(super) struct GradientBucket {
    pub ranges: Vec<Range<ParameterIndex>>,
    /// True if each rank gets only its own parts.
    pub scattered: bool,
}

/// How the gradients of ranks are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    pub rank: usize,
    pub ranks: usize,
    /// Least number of elements in a bucket before it is summed.
    pub bucket: usize,
    /// True: buckets are summed on their own lane during the backward pass. False: after it.
    pub overlap: bool,
}

impl Sums {
    /// Number of lanes of a schedule: the chain, gradients of weights, updates, sums.
    pub(super) const LANES: usize = 4;
    const LANE: usize = 3;

    /// Returns the ranges of parameters that are summed together, in the order in which their gradients are complete.
    pub(super) fn buckets(&self, layout: &ParameterLayout) -> Vec<GradientBucket> {
        let (embedding, norms) = (layout.embedding(), layout.norm(0));
        let scattered = Shards::new(layout, self.rank, self.ranks).is_some();
        // A block is divided as a whole, so a bucket of divided ones has a range for each.
        let step = if scattered {
            layout.qkv(1) - layout.qkv(0)
        } else {
            1
        };
        let mut buckets = Vec::new();
        let mut end = norms;
        for first in (embedding + 1..norms).step_by(step).rev() {
            let is_full = layout.elements(first, end).len() >= self.bucket;
            if is_full || first == embedding + 1 {
                let width = if scattered { step } else { end - first };
                let ranges = (first..end).step_by(width);
                buckets.push(GradientBucket {
                    ranges: ranges.map(|first| first..first + width).collect(),
                    scattered,
                });
                end = first;
            }
        }
        buckets.push(GradientBucket {
            ranges: vec![embedding..embedding + 1, norms..layout.parameters.len()],
            scattered: false,
        });
        buckets
    }
}

impl ScheduleBuilder {
    /// Adds the exchange of the blocks that ranks updated in the step before. The first block is exchanged alone, so
    /// that the forward pass can start.
    pub(super) fn gathers(&mut self) {
        let Some(sums) = self.sums.filter(|_| self.shards.is_some()) else {
            return;
        };
        let blocks = (0..self.config.layers).map(|layer| (layer, self.layout.block(layer)));
        let mut together: Vec<Vec<(usize, Range<usize>)>> = Vec::new();
        for (layer, block) in blocks {
            let open = together.last_mut().filter(|blocks| {
                layer > 1
                    && blocks.iter().map(|(_, block)| block.len()).sum::<usize>() < sums.bucket
            });
            match open {
                Some(blocks) => blocks.push((layer, block)),
                None => together.push(vec![(layer, block)]),
            }
        }
        for blocks in together {
            let weights = blocks
                .iter()
                .flat_map(|(layer, _)| self.layout.qkv(*layer)..self.layout.down(*layer) + 1);
            let operation = Operation::Gather(Gather {
                ranks: sums.ranks,
                weights: weights.map(BufferHandle::Weight).collect(),
                ranges: blocks.into_iter().map(|(_, block)| block).collect(),
            });
            self.push_sum(sums, operation);
        }
    }

    pub(super) fn sums(&mut self) {
        let Some(sums) = self.sums else { return };
        self.phase = StepPhase::Backward;
        self.part = Part::Backward;
        for bucket in sums.buckets(&self.layout) {
            let operation = Operation::Sum(Sum {
                ranks: sums.ranks,
                ranges: bucket
                    .ranges
                    .iter()
                    .map(|range| self.layout.elements(range.start, range.end))
                    .collect(),
                scattered: bucket.scattered,
                gradients: bucket
                    .ranges
                    .into_iter()
                    .flatten()
                    .map(BufferHandle::Gradient)
                    .collect(),
            });
            self.push_sum(sums, operation);
        }
        if sums.overlap {
            // This comes before updates exist, because no sum may move behind one.
            move_up(&mut self.nodes, |node| {
                matches!(node.operation, Operation::Sum(_))
            });
        }
    }

    fn push_sum(&mut self, sums: Sums, operation: Operation) {
        match sums.overlap {
            true => self.push_on(Sums::LANE, operation),
            false => self.push(operation),
        }
    }
}
