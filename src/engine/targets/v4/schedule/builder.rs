//! Builds a schedule: buffers, nodes and their lanes.

use super::dependencies::{find_dependencies, move_up};
use super::{Concurrency, FACTORS, LOSS_RING, Node, Schedule, StepPhase, Sums};
use crate::model::{ModelConfig, Part};
use crate::targets::v4::buffers::{BufferHandle, Buffers, Element};
use crate::targets::v4::layout::ParameterLayout;
use crate::targets::v4::operation::{
    CrossEntropy, FinishLoss, FinishNorms, MatrixProduct, Operation, Scatter,
};
use crate::targets::v4::shards::Shards;

/// The lane of all operations that the next launch waits for.
const MAIN: usize = 0;
/// Largest number of partial sums of a norm weight's gradient.
const MOST_PARTIALS: usize = 256;

/// Least number of tokens that one partial sum covers.
const LEAST_TOKENS_PER_PARTIAL: usize = 8;

/// The stream before a norm, and the norm's results.
#[derive(Clone, Copy)]
pub(super) struct SavedNorm {
    pub(super) stream: BufferHandle,
    pub(super) normed: BufferHandle,
    pub(super) scale: BufferHandle,
}

/// Results of a block's forward pass that the backward pass needs.
pub(super) struct SavedForward {
    pub(super) attention: SavedNorm,
    pub(super) feed_forward: SavedNorm,
    pub(super) qkv: BufferHandle,
    pub(super) rotated: BufferHandle,
    pub(super) mixed: BufferHandle,
    pub(super) log_sums: BufferHandle,
    pub(super) gate_up: BufferHandle,
    pub(super) activated: BufferHandle,
}

/// Intermediate gradients. The inputs of weights' gradients exist for more than one layer, so that the chain can
/// continue before those gradients are computed.
pub(super) struct Scratch {
    pub(super) stream: BufferHandle,
    /// Gradients of a block's output and of its attention: copies for matrix products.
    pub(super) output: Vec<BufferHandle>,
    pub(super) between: Vec<BufferHandle>,
    pub(super) qkv: Vec<BufferHandle>,
    pub(super) normed: BufferHandle,
    pub(super) mixed: BufferHandle,
    pub(super) activated: BufferHandle,
}

pub(super) struct ScheduleBuilder {
    pub(super) config: ModelConfig,
    pub(super) concurrency: Concurrency,
    pub(super) sums: Option<Sums>,
    pub(super) shards: Option<Shards>,
    pub(super) layout: ParameterLayout,
    pub(super) buffers: Buffers,
    pub(super) nodes: Vec<Node>,
    pub(super) tokens: BufferHandle,
    pub(super) targets: BufferHandle,
    pub(super) partials: BufferHandle,
    pub(super) tokens_per_partial: usize,
    /// Products for weights' gradients that wait for those of other layers, by weight.
    pub(super) waiting: [Vec<MatrixProduct>; 4],
    pub(super) part: Part,
    pub(super) phase: StepPhase,
}

impl ScheduleBuilder {
    pub(super) fn new(
        config: &ModelConfig,
        mut concurrency: Concurrency,
        sums: Option<Sums>,
    ) -> ScheduleBuilder {
        if sums.is_some_and(|sums| sums.overlap) {
            concurrency.lanes = Sums::LANES;
        }
        let layout = ParameterLayout::new(config);
        let mut buffers = Buffers::default();
        let n = config.tokens();
        let tokens_per_partial = n.div_ceil(MOST_PARTIALS).max(LEAST_TOKENS_PER_PARTIAL);
        let rows = layout.norms() * n.div_ceil(tokens_per_partial);
        ScheduleBuilder {
            config: *config,
            concurrency,
            sums,
            shards: sums.and_then(|sums| Shards::new(&layout, sums.rank, sums.ranks)),
            tokens: buffers.add("tokens", n, 1, Element::I32),
            targets: buffers.add("targets", n, 1, Element::I32),
            partials: buffers.add("norm partials", rows, config.hidden, Element::F32),
            layout,
            buffers,
            nodes: Vec::new(),
            tokens_per_partial,
            waiting: Default::default(),
            part: Part::Other,
            phase: StepPhase::Forward,
        }
    }

    pub(super) fn build(mut self) -> Schedule {
        let (n, d, v) = (
            self.config.tokens(),
            self.config.hidden,
            self.config.vocabulary,
        );
        let logits = self.buffers.add("logits", n, v, Element::F32);
        let logits_gradient = self.buffers.add("logits gradient", n, v, Element::Operand);
        let losses = self.buffers.add("losses", n, 1, Element::F32);
        let mut ring = |name, length| self.buffers.add(name, length + 1, 1, Element::F32);
        let (ring, factors) = (
            ring("loss ring", LOSS_RING),
            ring("update factors", FACTORS),
        );
        let table = self.layout.embedding();

        self.gathers();
        let (blocks, last) = self.forward();
        let SavedNorm { stream, normed, .. } = last;
        self.part = Part::Head;
        let head = MatrixProduct::new([n, v, d], normed, BufferHandle::Weight(table), logits);
        self.product(head.transpose_b());
        self.part = Part::Loss;
        self.push(Operation::CrossEntropy(CrossEntropy {
            logits,
            targets: self.targets,
            losses,
            logits_gradient,
        }));
        self.push_aside(Operation::FinishLoss(FinishLoss { losses, ring }));

        self.phase = StepPhase::Backward;
        let scratch = self.scratch();
        self.part = Part::Head;
        let gradient = weight_gradient(n, logits_gradient, normed, (v, d), table);
        self.push_aside(Operation::MatrixProduct(gradient));
        self.product(MatrixProduct::new(
            [n, d, v],
            logits_gradient,
            BufferHandle::Weight(table),
            scratch.normed,
        ));
        self.part = Part::Norm;
        let top = self.config.layers - 1;
        let copy = scratch.output[top % scratch.output.len()];
        self.normalize_backward(&scratch, self.layout.norms() - 1, last, Some(copy));
        for layer in (0..self.config.layers).rev() {
            self.block_backward(layer, &blocks[layer], &scratch);
            if layer.is_multiple_of(self.layers_together()) {
                self.flush_weight_gradients();
            }
        }
        self.part = Part::Embedding;
        self.push(Operation::Scatter(Scatter {
            tokens: self.tokens,
            stream_gradient: scratch.stream,
            table_gradient: BufferHandle::Gradient(table),
        }));
        self.part = Part::Norm;
        let gradients = (0..self.layout.norms()).map(|norm| self.layout.norm(norm));
        self.push_aside(Operation::FinishNorms(FinishNorms {
            partials: self.partials,
            gradients: gradients.map(BufferHandle::Gradient).collect(),
        }));
        self.sums();
        self.updates(factors);
        let streams = blocks.iter().map(|block| block.attention.stream);
        let streams = streams.chain([stream]).collect();
        self.finish(logits, streams, ring, factors)
    }

    pub(super) fn finish(
        mut self,
        logits: BufferHandle,
        streams: Vec<BufferHandle>,
        losses: BufferHandle,
        factors: BufferHandle,
    ) -> Schedule {
        if self.concurrency.update_early {
            move_up(&mut self.nodes, |node| node.phase == StepPhase::Optimizer);
        }
        find_dependencies(&mut self.nodes);
        Schedule {
            config: self.config,
            layout: self.layout,
            buffers: self.buffers,
            nodes: self.nodes,
            lanes: self.concurrency.lanes.max(1),
            tokens_per_partial: self.tokens_per_partial,
            tokens: self.tokens,
            targets: self.targets,
            logits,
            streams,
            losses,
            factors,
            sums: self.sums,
            shards: self.shards,
        }
    }

    pub(super) fn push(&mut self, operation: Operation) {
        self.push_on(MAIN, operation);
    }

    /// Adds an operation for which the main chain does not wait.
    pub(super) fn push_aside(&mut self, operation: Operation) {
        self.push_on(1, operation);
    }

    pub(super) fn push_on(&mut self, lane: usize, operation: Operation) {
        self.nodes.push(Node {
            operation,
            part: self.part,
            phase: self.phase,
            lane: lane.min(self.concurrency.lanes.max(1) - 1),
            after: Vec::new(),
        });
    }

    pub(super) fn product(&mut self, product: MatrixProduct) {
        self.push(Operation::MatrixProduct(product));
    }

    pub(super) fn layers_together(&self) -> usize {
        let layers = self.config.layers;
        let most = self.concurrency.layers_together.clamp(1, layers);
        // Splits the layers evenly.
        layers.div_ceil(layers.div_ceil(most))
    }

    /// Adds the gradients of a product's input, to `out`, and of its weight. `kind` is the weight's index among those of
    /// its block.
    pub(super) fn product_backward(
        &mut self,
        kind: usize,
        weight: usize,
        shape: (usize, usize),
        [input, gradient, out]: [BufferHandle; 3],
    ) {
        let tokens = self.config.tokens();
        let handle = BufferHandle::Weight(weight);
        let passed = MatrixProduct::new([tokens, shape.0, shape.1], gradient, handle, out);
        self.product(passed.transpose_b());
        let product = weight_gradient(tokens, input, gradient, shape, weight);
        if self.layers_together() == 1 {
            self.push_aside(Operation::WeightGradients(vec![product]));
        } else {
            self.waiting[kind].push(product);
        }
    }

    pub(super) fn flush_weight_gradients(&mut self) {
        for mut products in std::mem::take(&mut self.waiting) {
            // The backward pass adds them from the last layer to the first.
            products.reverse();
            if !products.is_empty() {
                self.part = Part::Backward;
                self.push_aside(Operation::WeightGradients(products));
            }
        }
    }
}

/// Builds `input^T · gradient`; `(rows, columns)` is the shape of the weight.
fn weight_gradient(
    tokens: usize,
    input: BufferHandle,
    gradient: BufferHandle,
    (rows, columns): (usize, usize),
    weight: usize,
) -> MatrixProduct {
    MatrixProduct {
        a_transposed: true,
        ..MatrixProduct::new(
            [rows, columns, tokens],
            input,
            gradient,
            BufferHandle::Gradient(weight),
        )
    }
}
