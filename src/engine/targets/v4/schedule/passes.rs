//! The forward pass, the backward pass and the updates, operation by operation.

use super::StepPhase;
use super::builder::{SavedForward, ScheduleBuilder, Scratch};
use crate::model::Part;
use crate::targets::v4::buffers::{BufferHandle, Element};
use crate::targets::v4::layout::ParameterLayout;
use crate::targets::v4::operation::{
    Activate, ActivateBackward, Advance, Attention, AttentionBackward, Lookup, MatrixProduct,
    Normalize, NormalizeBackward, Operation, UpdateOperation,
};

pub(super) struct ForwardPass {
    pub(super) blocks: Vec<SavedForward>,
    /// Stream, normed and scale before the head.
    pub(super) last: (BufferHandle, BufferHandle, BufferHandle),
}
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
        let streams = [
            add("attention input", n, d, Element::F32),
            add("feed-forward input", n, d, Element::F32),
        ];
        let normed = [
            add("attention normed", n, d, Element::Operand),
            add("feed-forward normed", n, d, Element::Operand),
        ];
        let scales = [
            add("attention norm scale", n, 1, Element::F32),
            add("feed-forward norm scale", n, 1, Element::F32),
        ];
        let rotated = add("rotated", n, qkv - values, Element::Operand);
        let qkv = add("qkv", n, qkv, Element::Operand);
        let mixed = add("attention output", n, d, Element::Operand);
        let rows = config.batch_size * config.heads;
        let log_sums = add(
            "attention log sums",
            rows,
            config.sequence_length,
            Element::F32,
        );
        let gate_up = add("gate and up", n, 2 * f, Element::Operand);
        let activated = add("activated", n, f, Element::Operand);
        let pair = |both: &[Vec<BufferHandle>; 2], layer: usize| [both[0][layer], both[1][layer]];
        let block = |layer: usize| SavedForward {
            streams: pair(&streams, layer),
            normed: pair(&normed, layer),
            scales: pair(&scales, layer),
            qkv: qkv[layer],
            rotated: rotated[layer],
            mixed: mixed[layer],
            log_sums: log_sums[layer],
            gate_up: gate_up[layer],
            activated: activated[layer],
        };
        (0..config.layers).map(block).collect()
    }

    pub(super) fn forward(&mut self) -> ForwardPass {
        let config = self.config;
        let (n, d, f) = (config.tokens(), config.hidden, config.ffn);
        let blocks = self.saved();
        let last = (
            self.buffers.add("final stream", n, d, Element::F32),
            self.buffers.add("final normed", n, d, Element::Operand),
            self.buffers.add("final norm scale", n, 1, Element::F32),
        );
        self.part = Part::Embedding;
        let norm = |layout: &ParameterLayout, norm: usize| BufferHandle::Weight(layout.norm(norm));
        if let Some(first) = blocks.first() {
            let operation = Lookup {
                tokens: self.tokens,
                table: BufferHandle::Weight(self.layout.embedding()),
                stream: first.streams[0],
                weight: norm(&self.layout, 0),
                normed: first.normed[0],
                scale: first.scales[0],
            };
            self.push(Operation::Lookup(operation));
        }
        let qkv = config.qkv_width();
        for (layer, block) in blocks.iter().enumerate() {
            let next = blocks.get(layer + 1);
            let (stream, normed, scale) = next.map_or(last, |next| {
                (next.streams[0], next.normed[0], next.scales[0])
            });
            let layout = &self.layout;
            let product = |columns, inner, a, weight, out| {
                MatrixProduct::new([n, columns, inner], a, BufferHandle::Weight(weight), out)
            };
            let onto = |addend: BufferHandle, product: MatrixProduct| MatrixProduct {
                addend: Some(addend),
                ..product
            };
            let queries = product(qkv, d, block.normed[0], layout.qkv(layer), block.qkv);
            let output = product(d, d, block.mixed, layout.output(layer), block.streams[1]);
            let normalize = Normalize {
                stream: block.streams[1],
                weight: norm(layout, 2 * layer + 1),
                normed: block.normed[1],
                scale: block.scales[1],
            };
            let gates = product(
                2 * f,
                d,
                block.normed[1],
                layout.gate_up(layer),
                block.gate_up,
            );
            let down = product(d, f, block.activated, layout.down(layer), stream);
            let normalize_next = Normalize {
                stream,
                weight: norm(layout, 2 * layer + 2),
                normed,
                scale,
            };
            self.part = Part::Attention(layer);
            self.product(queries);
            self.push(Operation::Attention(Attention {
                qkv: block.qkv,
                rotated: block.rotated,
                mixed: block.mixed,
                log_sums: block.log_sums,
            }));
            self.product(onto(block.streams[0], output));
            self.part = Part::FeedForward(layer);
            self.push(Operation::Normalize(normalize));
            self.product(gates);
            self.push(Operation::Activate(Activate {
                gate_up: block.gate_up,
                activated: block.activated,
            }));
            self.product(onto(block.streams[1], down));
            self.part = match next {
                Some(_) => Part::Attention(layer + 1),
                None => Part::Norm,
            };
            self.push(Operation::Normalize(normalize_next));
        }
        ForwardPass { blocks, last }
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
        stream: BufferHandle,
        scale: BufferHandle,
        copy: Option<BufferHandle>,
    ) {
        let operation = NormalizeBackward {
            normed_gradient: scratch.normed,
            stream,
            scale,
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
        let (n, d, f) = (config.tokens(), config.hidden, config.ffn);
        let qkv = config.qkv_width();
        let transposed = |columns, inner, a, weight, out| {
            MatrixProduct::new([n, columns, inner], a, BufferHandle::Weight(weight), out)
                .transpose_b()
        };

        self.part = Part::FeedForward(layer);
        let slots = scratch.output.len();
        let arriving = scratch.output[layer % slots];
        let between = scratch.between[layer % slots];
        let weight = self.layout.down(layer);
        self.product(transposed(f, d, arriving, weight, scratch.activated));
        self.block_gradient(0, block.activated, arriving, (f, d), weight);
        self.push(Operation::ActivateBackward(ActivateBackward {
            gate_up: block.gate_up,
            activated_gradient: scratch.activated,
        }));
        let weight = self.layout.gate_up(layer);
        self.product(transposed(d, 2 * f, block.gate_up, weight, scratch.normed));
        self.block_gradient(1, block.normed[1], block.gate_up, (d, 2 * f), weight);
        let (stream, scale) = (block.streams[1], block.scales[1]);
        self.normalize_backward(scratch, 2 * layer + 1, stream, scale, Some(between));

        self.part = Part::Attention(layer);
        let weight = self.layout.output(layer);
        self.product(transposed(d, d, between, weight, scratch.mixed));
        self.block_gradient(2, block.mixed, between, (d, d), weight);
        let qkv_gradient = scratch.qkv[layer % slots];
        self.push(Operation::AttentionBackward(AttentionBackward {
            qkv: block.qkv,
            rotated: block.rotated,
            mixed: block.mixed,
            log_sums: block.log_sums,
            mixed_gradient: scratch.mixed,
            qkv_gradient,
        }));
        let weight = self.layout.qkv(layer);
        self.product(transposed(d, qkv, qkv_gradient, weight, scratch.normed));
        self.block_gradient(3, block.normed[0], qkv_gradient, (d, qkv), weight);
        let (stream, scale) = (block.streams[0], block.scales[0]);
        let copy = layer
            .checked_sub(1)
            .map(|below| scratch.output[below % slots]);
        self.normalize_backward(scratch, 2 * layer, stream, scale, copy);
    }

    pub(super) fn updates(&mut self, factors: BufferHandle) {
        self.phase = StepPhase::Optimizer;
        self.part = Part::Optimizer;
        self.push_on(2, Operation::Advance(Advance { factors }));
        let count = self.layout.parameters.len();
        if !self.concurrency.update_early {
            self.update(factors, 0, count);
            return;
        }
        if let Some(sums) = self.sums {
            for range in sums.buckets(&self.layout).into_iter().flatten() {
                self.update(factors, range.start, range.end);
            }
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
        let operation = UpdateOperation {
            factors,
            elements: self.layout.elements(first, end),
            gradients: (first..end).map(BufferHandle::Gradient).collect(),
            weights: (first..end).map(BufferHandle::Weight).collect(),
        };
        self.push_on(2, Operation::UpdateOperation(operation));
    }
}
