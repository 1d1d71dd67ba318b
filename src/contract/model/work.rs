//! Floating-point operations and bytes of a training step, counted from shapes.
//!
//! A multiply and an add are two operations. Element-wise work counts one operation per arithmetic operator of its
//! formula; `exp`, root and division count as one each. Bytes are the minimum that an implementation of this recipe
//! must move. Each separate operation reads every operand once and writes every result once, and caches are not
//! considered. Work that a kernel repeats to save memory does not count. The counts are inputs to a roofline, not
//! measurements.

use std::iter::Sum;
use std::ops::Add;

use tinyllama_kernel_catalog::{
    KernelDescriptor, adamw, cross_entropy, flash_attention, rmsnorm, rope, swiglu,
};

use super::config::ModelConfig;
use super::kernels::sizes;
use super::part::Part;
use super::recipe::{Attention, OperandTypes, Operations, Projection, Recipe};
use crate::ElementType;

/// Bytes of an activation or a parameter, which are f32.
const ELEMENT: f64 = 4.0;

/// Operations, and the bytes that they must move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    pub flops: f64,
    pub bytes: f64,
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work {
            flops: self.flops + other.flops,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Work>>(works: I) -> Work {
        works.fold(Work::default(), Add::add)
    }
}

/// Work of a whole training step by part, in execution order. Operands and results of products have type `operand`.
pub fn training_step(
    config: &ModelConfig,
    recipe: &Recipe,
    operand: ElementType,
) -> Vec<(Part, Work)> {
    let shapes = Shapes::new(config, recipe, operand);
    let Shapes { n, d, v, .. } = shapes;
    let layer = [shapes.attention(recipe), shapes.feed_forward(recipe)];
    // Backward, each row of the stream's gradient is added to its token's row.
    let lookup = [
        element_wise(0.0, 2.0 * n * d),
        element_wise(n * d, 3.0 * n * d),
    ];
    let mut parts = vec![(Part::Embedding, lookup)];
    for index in 0..config.layers {
        parts.push((Part::Attention(index), layer[0]));
        parts.push((Part::FeedForward(index), layer[1]));
    }
    let norm = kernel_passes(config, &rmsnorm::KERNEL);
    parts.push((Part::Norm, vec![norm; 2 * config.layers + 1].total()));
    parts.push((Part::Head, shapes.product(n, d, v)));
    let loss = match recipe.operations {
        Operations::Kernels => [
            kernel_work(config, &cross_entropy::KERNEL, 0),
            Work::default(),
        ],
        Operations::Library => library_loss(n, v),
    };
    parts.push((Part::Loss, loss));
    let backward = parts.iter().map(|(_, [_, backward])| *backward).sum();
    let forward = parts
        .into_iter()
        .map(|(part, [forward, _])| (part, forward));
    let update = kernel_work(config, &adamw::KERNEL, 0);
    forward
        .chain([(Part::Backward, backward), (Part::Optimizer, update)])
        .collect()
}

/// Work of the loss in two passes over logits `[n, v]`, as a library computes it. The forward pass writes two numbers per
/// row, the loss and the logarithm of the sum; the gradient reads the latter.
fn library_loss(n: f64, v: f64) -> Passes {
    [
        element_wise(4.0 * n * v + 3.0 * n, n * v + 3.0 * n),
        element_wise(3.0 * n * v + n, 2.0 * n * v + 2.0 * n),
    ]
}

/// FLOP of a training step for attention's scores, in all layers, forward and backward.
pub fn score_flops(config: &ModelConfig, recipe: &Recipe) -> f64 {
    let core = Shapes::new(config, recipe, ElementType::F32).attention_core(recipe);
    config.layers as f64 * core.into_iter().sum::<Work>().flops
}

/// Work of one pass of a kernel in f32.
pub fn kernel_work(config: &ModelConfig, kernel: &KernelDescriptor, pass: usize) -> Work {
    let cost = kernel
        .passes
        .get(pass)
        .map(|pass| (pass.cost)(&sizes(config)));
    let cost = cost.unwrap_or_default();
    Work {
        flops: cost.flops as f64,
        bytes: cost.bytes() as f64,
    }
}

/// Forward and backward work.
type Passes = [Work; 2];

/// Sums forward and backward work separately.
trait Total {
    fn total(self) -> Passes;
}

impl<I: IntoIterator<Item = Passes>> Total for I {
    fn total(self) -> Passes {
        let add = |[a, b]: Passes, [c, d]: Passes| [a + c, b + d];
        self.into_iter().fold(Passes::default(), add)
    }
}

/// Work of a kernel whose first pass is forward and whose second is backward.
fn kernel_passes(config: &ModelConfig, kernel: &KernelDescriptor) -> Passes {
    [0, 1].map(|pass| kernel_work(config, kernel, pass))
}

/// Work of `flops` operations that read or write `elements` numbers in f32.
fn element_wise(flops: f64, elements: f64) -> Work {
    Work {
        flops,
        bytes: elements * ELEMENT,
    }
}

/// A model's sizes as floating-point numbers.
struct Shapes<'a> {
    config: &'a ModelConfig,
    /// Tokens.
    n: f64,
    d: f64,
    kv: f64,
    f: f64,
    v: f64,
    /// Bytes of an operand of products.
    operand: f64,
}

impl<'a> Shapes<'a> {
    fn new(config: &'a ModelConfig, recipe: &Recipe, operand: ElementType) -> Self {
        let operand = match recipe.operands {
            OperandTypes::Asked => operand,
            OperandTypes::Single => ElementType::F32,
        };
        Shapes {
            config,
            n: config.tokens() as f64,
            d: config.hidden as f64,
            kv: (config.kv_heads * config.head_dim()) as f64,
            f: config.ffn as f64,
            v: config.vocabulary as f64,
            operand: operand.bytes() as f64,
        }
    }

    /// `[rows, inner] x [inner, columns]`. Backward has a product for the operand and one for the weight.
    fn product(&self, rows: f64, inner: f64, columns: f64) -> Passes {
        let once = Work {
            flops: 2.0 * rows * inner * columns,
            bytes: self.operand * (rows * inner + inner * columns + rows * columns),
        };
        [once, once + once]
    }

    /// Work of adding a part's output to the residual stream, and of adding both gradients.
    fn residual(&self) -> Passes {
        [element_wise(self.n * self.d, 3.0 * self.n * self.d); 2]
    }

    fn attention(&self, recipe: &Recipe) -> Passes {
        let Shapes { n, d, kv, .. } = *self;
        let projections = match recipe.qkv {
            Projection::Separate => vec![(d, d), (d, kv), (d, kv)],
            Projection::Fused => vec![(d, d + 2.0 * kv)],
        };
        let products = projections.into_iter().chain([(d, d)]);
        let products = products.map(|(inner, columns)| self.product(n, inner, columns));
        let rotary = kernel_passes(self.config, &rope::KERNEL);
        let rest = [rotary, self.attention_core(recipe), self.residual()];
        products.chain(rest).total()
    }

    /// Work of attention on queries, keys and values: everything that grows with the square of the sequence length.
    fn attention_core(&self, recipe: &Recipe) -> Passes {
        match recipe.attention {
            // Two products cover all S x S scores, including masked ones, with scale, mask and softmax (6) between
            // them. Scale, mask and softmax each read and write the scores in f32. The first product writes them and
            // the second reads them. Backward is twice as much of each.
            Attention::Materialised => {
                let heads = (self.config.batch_size * self.config.heads) as f64;
                let scores = heads * (self.config.sequence_length as f64).powi(2);
                let head_dim = self.config.head_dim() as f64;
                let operands = 4.0 * self.n * self.d + 2.0 * scores;
                let once = Work {
                    flops: scores * (4.0 * head_dim + 6.0),
                    bytes: self.operand * operands + ELEMENT * 6.0 * scores,
                };
                [once, once + once]
            }
            // The kernels work only on pairs up to the diagonal, and scores stay on the chip.
            Attention::Kernel => kernel_passes(self.config, &flash_attention::KERNEL),
        }
    }

    fn feed_forward(&self, recipe: &Recipe) -> Passes {
        let Shapes { n, d, f, .. } = *self;
        let gate_up = match recipe.gate_up {
            Projection::Separate => vec![f, f],
            Projection::Fused => vec![2.0 * f],
        };
        let gate_up = gate_up
            .into_iter()
            .map(|columns| self.product(n, d, columns));
        let activation = kernel_passes(self.config, &swiglu::KERNEL);
        let rest = [activation, self.product(n, f, d), self.residual()];
        gate_up.chain(rest).total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;

    const BASELINE: Recipe = Recipe::BASELINE;
    const FUSED: Recipe = crate::targets::v3::RECIPE;

    /// Two tokens of four features: one layer, two heads of two features that share a key head, six features inside the
    /// feed-forward network, five tokens in the vocabulary.
    const CONFIG: ModelConfig = ModelConfig {
        vocabulary: 5,
        hidden: 4,
        layers: 1,
        heads: 2,
        kv_heads: 1,
        ffn: 6,
        sequence_length: 2,
        batch_size: 1,
    };

    fn part(recipe: &Recipe, operand: ElementType, part: Part) -> (f64, f64) {
        let step = training_step(&CONFIG, recipe, operand);
        let (_, work) = step.iter().find(|(one, _)| *one == part).unwrap();
        (work.flops, work.bytes)
    }

    #[test]
    fn every_part_is_counted_as_by_hand() {
        let of = |of| part(&FUSED, ElementType::F32, of);
        // 4 x 5 embedding, 3 norms of 4, 4 x 8 for queries, keys and values, 4 x 4, 4 x 12 and 6 x 4: 152 parameters,
        // with 15 operations and 28 bytes each.
        assert_eq!(of(Part::Optimizer), (2280.0, 4256.0));
        // Products: 2 x 2 x 4 x 12 + 2 x 2 x 6 x 4 = 288 operations on 8 + 48 + 24 + 12 + 24 + 8 = 124 numbers.
        // Activation: 6 each for 12 numbers, 36 moved. Residual: 8 additions, 24 moved.
        let feed_forward = of(Part::FeedForward(0));
        assert_eq!(feed_forward, (288.0 + 72.0 + 8.0, 4.0 * 184.0));
        // Products: 2 x 2 x 4 x 8 + 2 x 2 x 4 x 4 = 192 on 8 + 32 + 16 + 8 + 16 + 8 = 88. Rotation: 3 each for 12
        // numbers, with 4 angles. Scores: 6 pairs at 4 x 2; 8 queries, 4 keys, 4 values, 8 results, 4 sums. Residual.
        let attention = of(Part::Attention(0));
        assert_eq!(attention.0, 192.0 + 36.0 + 48.0 + 8.0);
        assert_eq!(attention.1, 4.0 * (88 + 28 + 28 + 24) as f64);
        // Twice the products, head included (80); scores 6 x 10 x 2; activation 12 each; three norms 11 x 8 + 8 x 2;
        // residuals, rotation, and the sum of token rows. The loss has computed its gradient already.
        let products = 2.0 * (288.0 + 192.0 + 80.0);
        let others = 120.0 + 144.0 + 3.0 * 104.0 + 16.0 + 36.0 + 8.0;
        assert_eq!(of(Part::Backward).0, products + others);
    }

    #[test]
    fn operands_of_products_have_the_runs_type_and_all_else_is_f32() {
        let bytes = |operand| part(&FUSED, operand, Part::FeedForward(0)).1;
        // The 124 numbers of both products take half, activation and residual do not.
        assert_eq!(bytes(ElementType::Bf16), 2.0 * 124.0 + 4.0 * 60.0);
        assert_eq!(bytes(ElementType::F16), bytes(ElementType::Bf16));
        let single = Recipe {
            operands: OperandTypes::Single,
            ..FUSED
        };
        let asked = part(&single, ElementType::Bf16, Part::FeedForward(0)).1;
        assert_eq!(asked, bytes(ElementType::F32));
        let update = |operand| part(&FUSED, operand, Part::Optimizer);
        assert_eq!(update(ElementType::Bf16), update(ElementType::F32));
    }

    #[test]
    fn the_products_dominate_as_six_times_parameters_times_tokens() {
        let config = Preset::Medium.config();
        let step = training_step(&config, &BASELINE, ElementType::F32);
        let flops: f64 = step.iter().map(|(_, work)| work.flops).sum();
        let tokens = config.tokens() as f64;
        let scores =
            12.0 * tokens * (config.sequence_length * config.hidden * config.layers) as f64;
        let rule_of_thumb = 6.0 * tokens * config.parameters() as f64 + scores;
        let ratio = flops / rule_of_thumb;
        assert!((0.98..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn fusing_projections_reads_the_input_once() {
        let config = Preset::Small.config();
        let shapes = Shapes::new(&config, &BASELINE, ElementType::F32);
        let fused = Recipe {
            qkv: Projection::Fused,
            ..BASELINE
        };
        let [apart, _] = shapes.attention(&BASELINE);
        let [together, _] = shapes.attention(&fused);
        let input = (config.tokens() * config.hidden) as f64;
        assert_eq!(apart.bytes - together.bytes, 2.0 * input * ELEMENT);
        assert_eq!(apart.flops, together.flops);
    }
}
