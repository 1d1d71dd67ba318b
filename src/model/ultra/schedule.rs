//! The training step as a list of launches, written once for every executor.
//!
//! No tape: the backward pass is spelled out. Every weight's gradient is a product of its own that nothing waits for
//! before the update, so those run on a second lane beside the chain from the loss back to the embedding.

use crate::model::{ModelConfig, Part};

use super::buffers::{Buffers, Element, Handle};
use super::layout::Layout;
use super::operation::{Operation, Product};

/// Which third of a step a launch belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    Forward,
    Backward,
    Optimizer,
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

/// How a step is spread out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// 1: everything in order. 2: gradients of weights and updates beside the main chain. 3: updates on a lane of theirs.
    pub lanes: usize,
    /// Update parameters as soon as their gradients are there, instead of all at the end in one launch.
    pub update_early: bool,
    /// Weights' gradients of this many layers are computed together, which fills a large device better than one layer's
    /// and keeps more intermediate results.
    pub layers_together: usize,
}

impl Spread {
    /// One launch after the other, one update for all.
    pub const SERIAL: Spread = Spread {
        lanes: 1,
        update_early: false,
        layers_together: 1,
    };
}

/// The lane of everything that the next launch waits for.
const MAIN: usize = 0;

/// Places in the ring of losses: how many steps may pass before somebody reads them.
pub const LOSS_RING: usize = 256;

/// Numbers that an update is worked out with; see [`Operation::Advance`].
pub const FACTORS: usize = 8;

/// Partial sums of a norm weight's gradient, at most.
const MOST_PARTIALS: usize = 256;

/// Tokens that one partial sum covers, at least.
const LEAST_TOKENS_PER_PARTIAL: usize = 8;

/// Everything a step is, before it is tied to a device.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub config: ModelConfig,
    pub layout: Layout,
    pub buffers: Buffers,
    pub nodes: Vec<Node>,
    pub lanes: usize,
    /// Tokens of each partial sum of [`Operation::NormalizeBackward`].
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
}

impl Schedule {
    pub fn new(config: &ModelConfig, spread: Spread) -> Schedule {
        Builder::new(config, spread).build()
    }

    /// The products of a step by shape, each with how many there are; those of several layers together one by one.
    pub fn products(&self) -> Vec<(Product, usize)> {
        let mut kinds: Vec<(Product, usize)> = Vec::new();
        let of_node = |node: &Node| match &node.operation {
            Operation::Product(product) => vec![*product],
            Operation::WeightGradients(products) => products.clone(),
            _ => vec![],
        };
        for product in self.nodes.iter().flat_map(of_node) {
            let alike = |other: &Product| {
                let shape = |product: &Product| {
                    let transposed = (product.a_transposed, product.b_transposed);
                    (product.m, product.n, product.k, transposed)
                };
                shape(other) == shape(&product)
            };
            match kinds.iter_mut().find(|(kind, _)| alike(kind)) {
                Some((_, count)) => *count += 1,
                None => kinds.push((product, 1)),
            }
        }
        kinds
    }

    /// Partial sums of a norm.
    pub fn partials(&self) -> usize {
        self.config.tokens().div_ceil(self.tokens_per_partial)
    }
}

/// What the backward pass needs of a block's forward pass.
struct Saved {
    /// The stream before attention and before the feed-forward network.
    streams: [Handle; 2],
    normed: [Handle; 2],
    scales: [Handle; 2],
    qkv: Handle,
    mixed: Handle,
    log_sums: Handle,
    gate_up: Handle,
    activated: Handle,
}

/// Intermediate gradients. What weights' gradients are made from is there for more than one layer, so that the chain can
/// go on before they are.
struct Scratch {
    stream: Handle,
    /// Of the output of a block, and of its attention: copies for matrix products.
    output: Vec<Handle>,
    between: Vec<Handle>,
    qkv: Vec<Handle>,
    normed: Handle,
    mixed: Handle,
    activated: Handle,
}

struct Builder {
    config: ModelConfig,
    spread: Spread,
    layout: Layout,
    buffers: Buffers,
    nodes: Vec<Node>,
    tokens: Handle,
    targets: Handle,
    partials: Handle,
    tokens_per_partial: usize,
    /// Products of weights' gradients that wait for those of other layers, by weight.
    waiting: [Vec<Product>; 4],
    part: Part,
    phase: Phase,
}

impl Builder {
    fn new(config: &ModelConfig, spread: Spread) -> Builder {
        let layout = Layout::new(config);
        let mut buffers = Buffers::default();
        let n = config.tokens();
        let tokens_per_partial = n.div_ceil(MOST_PARTIALS).max(LEAST_TOKENS_PER_PARTIAL);
        let rows = layout.norms() * n.div_ceil(tokens_per_partial);
        Builder {
            config: *config,
            spread,
            tokens: buffers.add("tokens", n, 1, Element::I32),
            targets: buffers.add("targets", n, 1, Element::I32),
            partials: buffers.add("norm partials", rows, config.hidden, Element::F32),
            layout,
            buffers,
            nodes: Vec::new(),
            tokens_per_partial,
            waiting: Default::default(),
            part: Part::Other,
            phase: Phase::Forward,
        }
    }

    fn build(mut self) -> Schedule {
        let (n, d, v) = (
            self.config.tokens(),
            self.config.hidden,
            self.config.vocabulary,
        );
        let logits = self.buffers.add("logits", n, v, Element::F32);
        let logits_gradient = self.buffers.add("logits gradient", n, v, Element::Operand);
        let losses = self.buffers.add("losses", n, 1, Element::F32);
        let ring = self
            .buffers
            .add("loss ring", LOSS_RING + 1, 1, Element::F32);
        let factors = self
            .buffers
            .add("update factors", FACTORS + 1, 1, Element::F32);

        let saved = self.forward();
        let last = self.layout.norms() - 1;
        let (stream, normed, scale) = saved.last;
        self.part = Part::Head;
        self.product(Product {
            m: n,
            n: v,
            k: d,
            a: normed,
            a_transposed: false,
            b: Handle::Weight(self.layout.embedding()),
            b_transposed: true,
            addend: None,
            out: logits,
        });
        self.part = Part::Loss;
        let targets = self.targets;
        self.push(Operation::CrossEntropy {
            logits,
            targets,
            losses,
            logits_gradient,
        });
        self.push_aside(Operation::FinishLoss { losses, ring });

        self.phase = Phase::Backward;
        let scratch = self.scratch();
        self.part = Part::Head;
        let gradient = weight_gradient(n, logits_gradient, normed, (v, d), self.layout.embedding());
        self.push_aside(Operation::Product(gradient));
        self.product(Product {
            m: n,
            n: d,
            k: v,
            a: logits_gradient,
            a_transposed: false,
            b: Handle::Weight(self.layout.embedding()),
            b_transposed: false,
            addend: None,
            out: scratch.normed,
        });
        self.part = Part::Norm;
        let top = self.config.layers - 1;
        let copy = scratch.output[top % scratch.output.len()];
        self.normalize_backward(&scratch, last, stream, scale, Some(copy));
        for layer in (0..self.config.layers).rev() {
            self.block_backward(layer, &saved.blocks[layer], &scratch);
            if layer.is_multiple_of(self.layers_together()) {
                self.waiting_gradients();
            }
        }
        self.part = Part::Embedding;
        let tokens = self.tokens;
        self.push(Operation::Scatter {
            tokens,
            stream_gradient: scratch.stream,
            table_gradient: Handle::Gradient(self.layout.embedding()),
        });
        self.part = Part::Norm;
        let gradients = (0..self.layout.norms())
            .map(|norm| Handle::Gradient(self.layout.norm(norm)))
            .collect();
        let partials = self.partials;
        self.push_aside(Operation::FinishNorms {
            partials,
            gradients,
        });
        self.updates(factors);
        let mut streams: Vec<Handle> = saved.blocks.iter().map(|block| block.streams[0]).collect();
        streams.push(stream);
        self.finish(logits, streams, ring, factors)
    }

    fn finish(
        mut self,
        logits: Handle,
        streams: Vec<Handle>,
        losses: Handle,
        factors: Handle,
    ) -> Schedule {
        if self.spread.update_early {
            advance_updates(&mut self.nodes);
        }
        find_dependencies(&mut self.nodes);
        Schedule {
            config: self.config,
            layout: self.layout,
            buffers: self.buffers,
            nodes: self.nodes,
            lanes: self.spread.lanes.max(1),
            tokens_per_partial: self.tokens_per_partial,
            tokens: self.tokens,
            targets: self.targets,
            logits,
            streams,
            losses,
            factors,
        }
    }

    fn push(&mut self, operation: Operation) {
        self.push_on(MAIN, operation);
    }

    /// Something that the main chain does not wait for.
    fn push_aside(&mut self, operation: Operation) {
        self.push_on(1, operation);
    }

    fn push_on(&mut self, lane: usize, operation: Operation) {
        self.nodes.push(Node {
            operation,
            part: self.part,
            phase: self.phase,
            lane: lane.min(self.spread.lanes.max(1) - 1),
            after: Vec::new(),
        });
    }

    fn product(&mut self, product: Product) {
        self.push(Operation::Product(product));
    }

    fn layers_together(&self) -> usize {
        self.spread.layers_together.clamp(1, self.config.layers)
    }

    /// The gradient of a block's weight; `kind` is its place among them.
    fn block_gradient(
        &mut self,
        kind: usize,
        input: Handle,
        gradient: Handle,
        shape: (usize, usize),
        weight: usize,
    ) {
        let product = weight_gradient(self.config.tokens(), input, gradient, shape, weight);
        if self.layers_together() == 1 {
            self.push_aside(Operation::WeightGradients(vec![product]));
        } else {
            self.waiting[kind].push(product);
        }
    }

    fn waiting_gradients(&mut self) {
        for mut products in std::mem::take(&mut self.waiting) {
            // They were met from the last layer to the first.
            products.reverse();
            if !products.is_empty() {
                self.part = Part::Backward;
                self.push_aside(Operation::WeightGradients(products));
            }
        }
    }

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

    fn forward(&mut self) -> Forward {
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

    fn scratch(&mut self) -> Scratch {
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

    fn normalize_backward(
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

    fn block_backward(&mut self, layer: usize, block: &Saved, scratch: &Scratch) {
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

    fn updates(&mut self, factors: Handle) {
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

/// `input^T · gradient` where `(rows, columns)` is the shape of the weight.
fn weight_gradient(
    tokens: usize,
    input: Handle,
    gradient: Handle,
    (rows, columns): (usize, usize),
    weight: usize,
) -> Product {
    Product {
        m: rows,
        n: columns,
        k: tokens,
        a: input,
        a_transposed: true,
        b: gradient,
        b_transposed: false,
        addend: None,
        out: Handle::Gradient(weight),
    }
}

struct Forward {
    blocks: Vec<Saved>,
    /// Stream, normed and scale before the head.
    last: (Handle, Handle, Handle),
}

/// Moves each update to right behind the last node it depends on, so that its lane gets to it early.
fn advance_updates(nodes: &mut Vec<Node>) {
    let (updates, mut rest): (Vec<Node>, Vec<Node>) = nodes
        .drain(..)
        .partition(|node| node.phase == Phase::Optimizer);
    for update in updates {
        let place = rest
            .iter()
            .rposition(|earlier| conflicts(&earlier.operation, &update.operation));
        rest.insert(place.map_or(0, |place| place + 1), update);
    }
    *nodes = rest;
}

/// Whether the later operation has to wait for the earlier one: one of them writes what the other touches.
fn conflicts(earlier: &Operation, later: &Operation) -> bool {
    let (writes, reads) = (earlier.writes(), earlier.reads());
    let touched = later.reads().into_iter().chain(later.writes());
    let mut overwritten = later.writes().into_iter();
    touched.into_iter().any(|handle| writes.contains(&handle))
        || overwritten.any(|handle| reads.contains(&handle))
}

/// Fills in [`Node::after`]: of each other lane the latest node that conflicts, where no earlier wait covers it.
fn find_dependencies(nodes: &mut [Node]) {
    let lanes = nodes.iter().map(|node| node.lane + 1).max().unwrap_or(0);
    // waited[a][b]: how far lane a knows lane b to be done, as the index after the last such node.
    let mut waited = vec![vec![0usize; lanes]; lanes];
    // What a node knew when it started: who waits for it knows that too.
    let mut known: Vec<Vec<usize>> = Vec::with_capacity(nodes.len());
    for index in 0..nodes.len() {
        let lane = nodes[index].lane;
        let mut after = Vec::new();
        for other in (0..lanes).filter(|other| *other != lane) {
            let latest = (waited[lane][other]..index).rev().find(|earlier| {
                nodes[*earlier].lane == other
                    && conflicts(&nodes[*earlier].operation, &nodes[index].operation)
            });
            if let Some(earlier) = latest {
                after.push(earlier);
            }
        }
        for earlier in &after {
            let other = nodes[*earlier].lane;
            waited[lane][other] = waited[lane][other].max(earlier + 1);
            for (mine, theirs) in waited[lane].iter_mut().zip(&known[*earlier]) {
                *mine = (*mine).max(*theirs);
            }
        }
        // A wait that another one implies is not needed.
        let implied: Vec<usize> = after
            .iter()
            .copied()
            .filter(|earlier| {
                after
                    .iter()
                    .any(|later| later != earlier && known[*later][nodes[*earlier].lane] > *earlier)
            })
            .collect();
        after.retain(|earlier| !implied.contains(earlier));
        known.push(waited[lane].clone());
        nodes[index].after = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;

    fn schedules() -> Vec<Schedule> {
        let config = Preset::Tiny.config();
        let mut list = Vec::new();
        for lanes in 1..=3 {
            for update_early in [false, true] {
                for layers_together in [1, 2, 3, 4] {
                    list.push(Schedule::new(
                        &config,
                        Spread {
                            lanes,
                            update_early,
                            layers_together,
                        },
                    ));
                }
            }
        }
        list
    }

    /// Whether `later` is certain to start after `earlier` has ended.
    fn ordered(nodes: &[Node], earlier: usize, later: usize) -> bool {
        let mut reached = vec![false; nodes.len()];
        reached[earlier] = true;
        for index in earlier + 1..=later {
            let lane = nodes[index].lane;
            let in_lane = (earlier..index).any(|i| reached[i] && nodes[i].lane == lane);
            reached[index] = in_lane || nodes[index].after.iter().any(|i| reached[*i]);
        }
        reached[later]
    }

    #[test]
    fn whatever_conflicts_is_ordered_on_any_number_of_lanes() {
        for schedule in schedules() {
            let nodes = &schedule.nodes;
            for later in 0..nodes.len() {
                assert!(nodes[later].after.iter().all(|earlier| *earlier < later));
                for earlier in 0..later {
                    if conflicts(&nodes[earlier].operation, &nodes[later].operation) {
                        assert!(
                            ordered(nodes, earlier, later),
                            "{} lanes: {later} {:?} after {earlier} {:?}",
                            schedule.lanes,
                            nodes[later].operation,
                            nodes[earlier].operation
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn writing_conflicts_with_reading_and_writing_and_reading_with_nothing() {
        let activate = |from: usize, to: usize| Operation::Activate {
            gate_up: Handle::Buffer(from),
            activated: Handle::Buffer(to),
        };
        assert!(
            conflicts(&activate(0, 1), &activate(1, 2)),
            "read after write"
        );
        assert!(
            conflicts(&activate(0, 1), &activate(2, 0)),
            "write after read"
        );
        assert!(
            conflicts(&activate(0, 1), &activate(2, 1)),
            "write after write"
        );
        assert!(!conflicts(&activate(0, 1), &activate(0, 2)), "both read");
        assert!(!conflicts(&activate(0, 1), &activate(2, 3)));
    }

    #[test]
    fn every_parameter_gets_a_gradient_and_one_update() {
        for schedule in schedules() {
            for parameter in 0..schedule.layout.parameters.len() {
                let touching = |phase: Phase, handle: Handle| {
                    let nodes = schedule.nodes.iter().filter(|node| node.phase == phase);
                    nodes
                        .filter(|node| node.operation.writes().contains(&handle))
                        .count()
                };
                assert!(touching(Phase::Backward, Handle::Gradient(parameter)) >= 1);
                assert_eq!(touching(Phase::Optimizer, Handle::Weight(parameter)), 1);
            }
            let mut elements: Vec<_> = schedule
                .nodes
                .iter()
                .filter_map(|node| match &node.operation {
                    Operation::Update { elements, .. } => Some(elements.clone()),
                    _ => None,
                })
                .collect();
            elements.sort_by_key(|range| range.start);
            assert_eq!(elements.first().unwrap().start, 0);
            assert_eq!(elements.last().unwrap().end, schedule.layout.length);
            assert!(elements.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn products_by_shape_are_all_products_of_the_step() {
        let config = Preset::Small.config();
        let schedule = Schedule::new(&config, Spread::SERIAL);
        let kinds = schedule.products();
        let operations: f64 = kinds
            .iter()
            .map(|(p, count)| 2.0 * (p.m * p.n * p.k * count) as f64)
            .sum();
        let matrices =
            (config.parameters() as usize - (2 * config.layers + 1) * config.hidden) as f64;
        assert_eq!(operations, 6.0 * config.tokens() as f64 * matrices);
        let together = Spread {
            layers_together: config.layers,
            ..Spread::SERIAL
        };
        let count = |kinds: &[(Product, usize)]| kinds.iter().map(|kind| kind.1).sum::<usize>();
        assert_eq!(
            count(&Schedule::new(&config, together).products()),
            count(&kinds)
        );
    }

    #[test]
    fn nothing_reads_what_nothing_wrote() {
        for schedule in schedules() {
            let mut written = vec![schedule.tokens, schedule.targets];
            // Counters: read and written by the same launch, zero at the start.
            written.extend([schedule.losses, schedule.factors]);
            for node in &schedule.nodes {
                for handle in node.operation.reads() {
                    let known = matches!(handle, Handle::Weight(_)) || written.contains(&handle);
                    assert!(known, "{handle:?} in {:?}", node.operation);
                }
                written.extend(node.operation.writes());
            }
        }
    }
}
