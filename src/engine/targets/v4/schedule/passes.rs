//! The forward pass, the backward pass and the updates, operation by operation.

use super::StepPhase;
use super::builder::{SavedForward, SavedNorm, ScheduleBuilder, Scratch};
use crate::model::Part;
use crate::targets::v4::buffers::{BufferHandle, Element};
use crate::targets::v4::layout::ParameterIndex;
use crate::targets::v4::operation::{
    Activate, ActivateBackward, Advance, Attention, AttentionBackward, Lookup, MatrixProduct,
    Normalize, NormalizeBackward, Operation, UpdateOperation,
};

impl ScheduleBuilder {
    /// Buffers of the same kind are adjacent, so that products over several layers find them at equal distances.
    fn saved(&mut self) -> Vec<SavedForward> {
        let config = self.config;
        let (n, d, f) = (config.tokens(), config.hidden, config.ffn);
        let (qkv, values) = (config.qkv_width(), config.kv_heads * config.head_dim());
        let mut add = |name: &str, rows: usize, columns: usize, element: Element| {
            let buffers = (0..config.layers).map(|layer| {
                self.buffers
                    .add(format!("layer {layer} {name}"), rows, columns, element)
            });
            buffers.collect::<Vec<BufferHandle>>()
        };
        let norms = ["attention", "feed-forward"];
        let streams = norms.map(|name| add(&format!("{name} input"), n, d, Element::F32));
        let normed = norms.map(|name| add(&format!("{name} normed"), n, d, Element::Operand));
        let scales = norms.map(|name| add(&format!("{name} norm scale"), n, 1, Element::F32));
        let rotated = add("rotated", n, qkv - values, Element::Operand);
        let qkv = add("qkv", n, qkv, Element::Operand);
        let mixed = add("attention output", n, d, Element::Operand);
        let (rows, columns) = (config.batch_size * config.heads, config.sequence_length);
        let log_sums = add("attention log sums", rows, columns, Element::F32);
        let gate_up = add("gate and up", n, 2 * f, Element::Operand);
        let activated = add("activated", n, f, Element::Operand);
        let norm = |at: usize, layer: usize| SavedNorm {
            stream: streams[at][layer],
            normed: normed[at][layer],
            scale: scales[at][layer],
        };
        let block = |layer: usize| SavedForward {
            attention: norm(0, layer),
            feed_forward: norm(1, layer),
            qkv: qkv[layer],
            rotated: rotated[layer],
            mixed: mixed[layer],
            log_sums: log_sums[layer],
            gate_up: gate_up[layer],
            activated: activated[layer],
        };
        (0..config.layers).map(block).collect()
    }

    /// Adds the forward pass up to the head. Returns what it saves of each block, and the last norm.
    pub(super) fn forward(&mut self) -> (Vec<SavedForward>, SavedNorm) {
        let config = self.config;
        let (n, d, f) = (config.tokens(), config.hidden, config.ffn);
        let blocks = self.saved();
        let last = SavedNorm {
            stream: self.buffers.add("final stream", n, d, Element::F32),
            normed: self.buffers.add("final normed", n, d, Element::Operand),
            scale: self.buffers.add("final norm scale", n, 1, Element::F32),
        };
        self.part = Part::Embedding;
        if let Some(SavedForward { attention, .. }) = blocks.first() {
            self.push(Operation::Lookup(Lookup {
                tokens: self.tokens,
                table: BufferHandle::Weight(self.layout.embedding()),
                stream: attention.stream,
                weight: BufferHandle::Weight(self.layout.norm(0)),
                normed: attention.normed,
                scale: attention.scale,
            }));
        }
        for (layer, block) in blocks.iter().enumerate() {
            let (before, between) = (block.attention, block.feed_forward);
            let next = blocks.get(layer + 1);
            let after = next.map_or(last, |next| next.attention);

            self.part = Part::Attention(layer);
            let weight = self.layout.qkv(layer);
            self.project(
                [config.qkv_width(), d],
                weight,
                before.normed,
                None,
                block.qkv,
            );
            self.push(Operation::Attention(Attention {
                qkv: block.qkv,
                rotated: block.rotated,
                mixed: block.mixed,
                log_sums: block.log_sums,
            }));
            let (weight, onto) = (self.layout.output(layer), Some(before.stream));
            self.project([d, d], weight, block.mixed, onto, between.stream);

            self.part = Part::FeedForward(layer);
            self.normalize(2 * layer + 1, between);
            let weight = self.layout.gate_up(layer);
            self.project([2 * f, d], weight, between.normed, None, block.gate_up);
            self.push(Operation::Activate(Activate {
                gate_up: block.gate_up,
                activated: block.activated,
            }));
            let (weight, onto) = (self.layout.down(layer), Some(between.stream));
            self.project([d, f], weight, block.activated, onto, after.stream);
            self.part = match next {
                Some(_) => Part::Attention(layer + 1),
                None => Part::Norm,
            };
            self.normalize(2 * layer + 2, after);
        }
        (blocks, last)
    }

    /// Adds `out = a weight (+ addend)`; the weight is `[inner, columns]`.
    fn project(
        &mut self,
        [columns, inner]: [usize; 2],
        weight: ParameterIndex,
        a: BufferHandle,
        addend: Option<BufferHandle>,
        out: BufferHandle,
    ) {
        let (sides, weight) = (
            [self.config.tokens(), columns, inner],
            BufferHandle::Weight(weight),
        );
        let product = MatrixProduct::new(sides, a, weight, out);
        self.product(MatrixProduct { addend, ..product });
    }

    fn normalize(&mut self, norm: usize, saved: SavedNorm) {
        self.push(Operation::Normalize(Normalize {
            stream: saved.stream,
            weight: BufferHandle::Weight(self.layout.norm(norm)),
            normed: saved.normed,
            scale: saved.scale,
        }));
    }

    pub(super) fn scratch(&mut self) -> Scratch {
        let config = self.config;
        let (n, d, f) = (config.tokens(), config.hidden, config.ffn);
        let qkv = config.qkv_width();
        let together = self.layers_together();
        let count = (2 * together).min(config.layers.max(2));
        let mut add = |name: &str, columns: usize, element: Element| {
            self.buffers.add(name, n, columns, element)
        };
        let mut several = |name: &str, columns: usize| {
            let buffers = (0..count).map(|_| add(name, columns, Element::Operand));
            buffers.collect::<Vec<BufferHandle>>()
        };
        Scratch {
            output: several("block output gradient", d),
            between: several("attention output gradient", d),
            qkv: several("qkv gradient", qkv),
            stream: add("stream gradient", d, Element::F32),
            normed: add("normed gradient", d, Element::Operand),
            mixed: add("mixed gradient", d, Element::Operand),
            activated: add("activated gradient", f, Element::Operand),
        }
    }

    pub(super) fn normalize_backward(
        &mut self,
        scratch: &Scratch,
        norm: usize,
        saved: SavedNorm,
        copy: Option<BufferHandle>,
    ) {
        let operation = NormalizeBackward {
            normed_gradient: scratch.normed,
            stream: saved.stream,
            scale: saved.scale,
            weight: BufferHandle::Weight(self.layout.norm(norm)),
            stream_gradient: scratch.stream,
            first: norm + 1 == self.layout.norms(),
            copy,
            partials: self.partials,
            norm,
        };
        self.push(Operation::NormalizeBackward(operation));
    }

    pub(super) fn block_backward(&mut self, layer: usize, block: &SavedForward, scratch: &Scratch) {
        let config = self.config;
        let (d, f) = (config.hidden, config.ffn);

        self.part = Part::FeedForward(layer);
        let slots = scratch.output.len();
        let arriving = scratch.output[layer % slots];
        let between = scratch.between[layer % slots];
        let buffers = [block.activated, arriving, scratch.activated];
        self.product_backward(0, self.layout.down(layer), (f, d), buffers);
        self.push(Operation::ActivateBackward(ActivateBackward {
            gate_up: block.gate_up,
            activated_gradient: scratch.activated,
        }));
        let buffers = [block.feed_forward.normed, block.gate_up, scratch.normed];
        self.product_backward(1, self.layout.gate_up(layer), (d, 2 * f), buffers);
        self.normalize_backward(scratch, 2 * layer + 1, block.feed_forward, Some(between));

        self.part = Part::Attention(layer);
        let buffers = [block.mixed, between, scratch.mixed];
        self.product_backward(2, self.layout.output(layer), (d, d), buffers);
        let qkv_gradient = scratch.qkv[layer % slots];
        self.push(Operation::AttentionBackward(AttentionBackward {
            qkv: block.qkv,
            rotated: block.rotated,
            mixed: block.mixed,
            log_sums: block.log_sums,
            mixed_gradient: scratch.mixed,
            qkv_gradient,
        }));
        let (shape, weight) = ((d, config.qkv_width()), self.layout.qkv(layer));
        let buffers = [block.attention.normed, qkv_gradient, scratch.normed];
        self.product_backward(3, weight, shape, buffers);
        let copy = layer
            .checked_sub(1)
            .map(|below| scratch.output[below % slots]);
        self.normalize_backward(scratch, 2 * layer, block.attention, copy);
    }

    pub(super) fn updates(&mut self, factors: BufferHandle) {
        self.phase = StepPhase::Optimizer;
        self.part = Part::Optimizer;
        self.push_on(2, Operation::Advance(Advance { factors }));
        let count = self.layout.parameters.len();
        if let Some(sums) = self.sums {
            let buckets = sums.buckets(&self.layout).into_iter();
            for range in buckets.flat_map(|bucket| bucket.ranges) {
                self.update(factors, range.start, range.end);
            }
            return;
        }
        if !self.concurrency.update_early {
            self.update(factors, 0, count);
            return;
        }
        let together = self.layers_together();
        for first in (0..self.config.layers).step_by(together).rev() {
            let last = (first + together).min(self.config.layers) - 1;
            self.update(factors, self.layout.qkv(first), self.layout.down(last) + 1);
        }
        self.update(factors, self.layout.norm(0), count);
        self.update(factors, 0, 1);
    }

    fn update(&mut self, factors: BufferHandle, first: usize, end: usize) {
        let elements = self.layout.elements(first, end);
        let is_block = first >= self.layout.qkv(0) && end <= self.layout.norm(0);
        let shards = self.shards.as_ref().filter(|_| is_block);
        let operation = UpdateOperation {
            factors,
            elements: shards.map_or(elements.clone(), |shards| shards.own(&elements)),
            gradients: (first..end).map(BufferHandle::Gradient).collect(),
            weights: (first..end).map(BufferHandle::Weight).collect(),
        };
        self.push_on(2, Operation::UpdateOperation(operation));
    }
}
