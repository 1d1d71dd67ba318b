//! The forward pass, the backward pass and the updates, spelled out.

use super::Phase;
use super::builder::{Builder, Saved, Scratch};
use crate::model::Part;
use crate::model::ultra::buffers::{Element, Handle};
use crate::model::ultra::layout::Layout;
use crate::model::ultra::operation::{Operation, Product};

pub(super) struct Forward {
    pub(super) blocks: Vec<Saved>,
    /// Stream, normed and scale before the head.
    pub(super) last: (Handle, Handle, Handle),
}
impl Builder {
    /// Buffers of equal kind lie behind each other, so that products over several layers find them at equal distances.
    fn saved(&mut self) -> Vec<Saved> {
        let config = self.config;
        let (n, d, f) = (config.tokens(), config.hidden, config.ffn);
        let qkv = d + 2 * config.kv_heads * config.head_dim();
        let mut add = |name: &str, rows: usize, columns: usize, element: Element| {
            let buffers = (0..config.layers).map(|layer| {
                self.buffers
                    .add(format!("layer {layer} {name}"), rows, columns, element)
            });
            buffers.collect::<Vec<Handle>>()
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
        let pair = |both: &[Vec<Handle>; 2], layer: usize| [both[0][layer], both[1][layer]];
        let block = |layer: usize| Saved {
            streams: pair(&streams, layer),
            normed: pair(&normed, layer),
            scales: pair(&scales, layer),
            qkv: qkv[layer],
            mixed: mixed[layer],
            log_sums: log_sums[layer],
            gate_up: gate_up[layer],
            activated: activated[layer],
        };
        (0..config.layers).map(block).collect()
    }

    pub(super) fn forward(&mut self) -> Forward {
        let config = self.config;
        let (n, d, f) = (config.tokens(), config.hidden, config.ffn);
        let blocks = self.saved();
        let last = (
            self.buffers.add("final stream", n, d, Element::F32),
            self.buffers.add("final normed", n, d, Element::Operand),
            self.buffers.add("final norm scale", n, 1, Element::F32),
        );
        self.part = Part::Embedding;
        let weight = |layout: &Layout, norm: usize| Handle::Weight(layout.norm(norm));
        if let Some(first) = blocks.first() {
            let tokens = self.tokens;
            self.push(Operation::Lookup {
                tokens,
                table: Handle::Weight(self.layout.embedding()),
                stream: first.streams[0],
                weight: weight(&self.layout, 0),
                normed: first.normed[0],
                scale: first.scales[0],
            });
        }
        for (layer, block) in blocks.iter().enumerate() {
            let product = |m, n, k, a, b: usize, addend, out| Product {
                m,
                n,
                k,
                a,
                a_transposed: false,
                b: Handle::Weight(b),
                b_transposed: false,
                addend,
                out,
            };
            let qkv = d + 2 * config.kv_heads * config.head_dim();
            self.part = Part::Attention(layer);
            let weights = self.layout.qkv(layer);
            self.product(product(
                n,
                qkv,
                d,
                block.normed[0],
                weights,
                None,
                block.qkv,
            ));
            self.push(Operation::Attention {
                qkv: block.qkv,
                mixed: block.mixed,
                log_sums: block.log_sums,
            });
            let weights = self.layout.output(layer);
            let residual = Some(block.streams[0]);
            self.product(product(
                n,
                d,
                d,
                block.mixed,
                weights,
                residual,
                block.streams[1],
            ));
            self.part = Part::FeedForward(layer);
            self.push(Operation::Normalize {
                stream: block.streams[1],
                weight: weight(&self.layout, 2 * layer + 1),
                normed: block.normed[1],
                scale: block.scales[1],
            });
            let weights = self.layout.gate_up(layer);
            self.product(product(
                n,
                2 * f,
                d,
                block.normed[1],
                weights,
                None,
                block.gate_up,
            ));
            self.push(Operation::Activate {
                gate_up: block.gate_up,
                activated: block.activated,
            });
            let next = blocks.get(layer + 1);
            let (stream, normed, scale) = next.map_or(last, |next| {
                (next.streams[0], next.normed[0], next.scales[0])
            });
            let weights = self.layout.down(layer);
            let residual = Some(block.streams[1]);
            self.product(product(n, d, f, block.activated, weights, residual, stream));
            self.part = if next.is_some() {
                Part::Attention(layer + 1)
            } else {
                Part::Norm
            };
            self.push(Operation::Normalize {
                stream,
                weight: weight(&self.layout, 2 * layer + 2),
                normed,
                scale,
            });
        }
        Forward { blocks, last }
    }
    pub(super) fn scratch(&mut self) -> Scratch {
        let config = self.config;
        let (n, d, f) = (config.tokens(), config.hidden, config.ffn);
        let qkv = d + 2 * config.kv_heads * config.head_dim();
        let together = self.layers_together();
        let count = (2 * together).min(config.layers.max(2));
        let mut add = |name: &str, columns: usize, element: Element| {
            self.buffers.add(name, n, columns, element)
        };
        let mut several = |name: &str, columns: usize| {
            let buffers = (0..count).map(|_| add(name, columns, Element::Operand));
            buffers.collect::<Vec<Handle>>()
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
        stream: Handle,
        scale: Handle,
        copy: Option<Handle>,
    ) {
        let operation = Operation::NormalizeBackward {
            normed_gradient: scratch.normed,
            stream,
            scale,
            weight: Handle::Weight(self.layout.norm(norm)),
            stream_gradient: scratch.stream,
            first: norm + 1 == self.layout.norms(),
            copy,
            partials: self.partials,
            norm,
        };
        self.push(operation);
    }

    pub(super) fn block_backward(&mut self, layer: usize, block: &Saved, scratch: &Scratch) {
        let config = self.config;
        let (n, d, f) = (config.tokens(), config.hidden, config.ffn);
        let qkv = d + 2 * config.kv_heads * config.head_dim();
        let transposed = |n_: usize, k, a, weight, out| Product {
            m: n,
            n: n_,
            k,
            a,
            a_transposed: false,
            b: Handle::Weight(weight),
            b_transposed: true,
            addend: None,
            out,
        };

        self.part = Part::FeedForward(layer);
        let slots = scratch.output.len();
        let arriving = scratch.output[layer % slots];
        let between = scratch.between[layer % slots];
        let weight = self.layout.down(layer);
        self.product(transposed(f, d, arriving, weight, scratch.activated));
        self.block_gradient(0, block.activated, arriving, (f, d), weight);
        self.push(Operation::ActivateBackward {
            gate_up: block.gate_up,
            activated_gradient: scratch.activated,
        });
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
        self.push(Operation::AttentionBackward {
            qkv: block.qkv,
            mixed: block.mixed,
            log_sums: block.log_sums,
            mixed_gradient: scratch.mixed,
            qkv_gradient,
        });
        let weight = self.layout.qkv(layer);
        self.product(transposed(d, qkv, qkv_gradient, weight, scratch.normed));
        self.block_gradient(3, block.normed[0], qkv_gradient, (d, qkv), weight);
        let (stream, scale) = (block.streams[0], block.scales[0]);
        let copy = layer
            .checked_sub(1)
            .map(|below| scratch.output[below % slots]);
        self.normalize_backward(scratch, 2 * layer, stream, scale, copy);
    }

    pub(super) fn updates(&mut self, factors: Handle) {
        self.phase = Phase::Optimizer;
        self.part = Part::Optimizer;
        self.push_on(2, Operation::Advance { factors });
        let count = self.layout.parameters.len();
        if !self.spread.update_early {
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

    fn update(&mut self, factors: Handle, first: usize, end: usize) {
        let operation = Operation::Update {
            factors,
            elements: self.layout.elements(first, end),
            gradients: (first..end).map(Handle::Gradient).collect(),
            weights: (first..end).map(Handle::Weight).collect(),
        };
        self.push_on(2, operation);
    }
}
