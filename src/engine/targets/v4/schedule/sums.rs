//! Sums of gradients over the ranks of a run on several GPUs.
//!
//! Gradients are stored in the order of the layout and are complete from the last layer to the first. So a bucket is a
//! range that grows downwards. The gradients of the embedding and of the norms are complete last.

use std::ops::Range;

use super::StepPhase;
use super::builder::ScheduleBuilder;
use super::dependencies::move_up;
use crate::model::Part;
use crate::targets::v4::buffers::BufferHandle;
use crate::targets::v4::layout::{ParameterIndex, ParameterLayout};
use crate::targets::v4::operation::{Operation, Sum};

/// Ranges of parameters whose gradients are summed together.
type GradientBucket = Vec<Range<ParameterIndex>>;

/// How the gradients of ranks are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
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
    pub fn buckets(&self, layout: &ParameterLayout) -> Vec<GradientBucket> {
        let (embedding, norms) = (layout.embedding(), layout.norm(0));
        let mut buckets = Vec::new();
        let mut end = norms;
        for first in (embedding + 1..norms).rev() {
            if layout.elements(first, end).len() >= self.bucket || first == embedding + 1 {
                buckets.push(std::iter::once(first..end).collect());
                end = first;
            }
        }
        buckets.push(vec![
            embedding..embedding + 1,
            norms..layout.parameters.len(),
        ]);
        buckets
    }
}

impl ScheduleBuilder {
    pub(super) fn sums(&mut self) {
        let Some(sums) = self.sums else { return };
        self.phase = StepPhase::Backward;
        self.part = Part::Backward;
        for bucket in sums.buckets(&self.layout) {
            let operation = Operation::Sum(Sum {
                ranks: sums.ranks,
                ranges: bucket
                    .iter()
                    .map(|range| self.layout.elements(range.start, range.end))
                    .collect(),
                gradients: bucket
                    .into_iter()
                    .flatten()
                    .map(BufferHandle::Gradient)
                    .collect(),
            });
            match sums.overlap {
                true => self.push_on(Sums::LANE, operation),
                false => self.push(operation),
            }
        }
        if sums.overlap {
            // This comes before updates exist, because no sum may move behind one.
            move_up(&mut self.nodes, |node| {
                matches!(node.operation, Operation::Sum(_))
            });
        }
    }
}
