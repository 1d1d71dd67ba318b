//! Floating-point operations and bytes of a training step, counted from shapes.
//!
//! A multiply and an add are two operations. Element-wise work counts one operation per arithmetic operator of its
//! formula; `exp`, root and division count as one each. Bytes are the minimum that an implementation of this recipe
//! must move. Each separate operation reads every operand once and writes every result once, and caches are not
//! considered. The counts are inputs to a roofline, not measurements.

use std::iter::Sum;
use std::ops::Add;

use super::config::ModelConfig;
use super::part::Part;
use super::recipe::{Attention, Projection, Recipe};

/// Bytes of an element; activations and parameters are f32.
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

/// Work of a whole training step, by part in execution order.
pub fn training_step(config: &ModelConfig, recipe: &Recipe) -> Vec<(Part, Work)> {
    let shapes = Shapes::new(config);
    let Shapes { n, d, v, .. } = shapes;
    let layer = [shapes.attention(recipe), shapes.feed_forward(recipe)];
    let norms = (2 * config.layers + 1) as f64;
    let mut parts = vec![(Part::Embedding, element_wise(0.0, 2.0 * n * d))];
    for index in 0..config.layers {
        parts.push((Part::Attention(index), layer[0]));
        parts.push((Part::FeedForward(index), layer[1]));
    }
    // Per element: square, sum, divide by the root, multiply by the weight.
    let norm = element_wise(norms * n * d * 4.0, norms * (2.0 * n * d + d));
    parts.push((Part::Norm, norm));
    parts.push((Part::Head, product(n, d, v)));
    // Per logit: maximum, subtract, exp, sum.
    parts.push((Part::Loss, element_wise(n * v * 4.0, n * v)));
    let forward = parts.iter().map(|(_, work)| *work).sum();
    parts.push((Part::Backward, backward(forward)));
    // AdamW reads parameter, gradient and two moments, and writes all except the gradient. It needs about 14
    // operations per parameter.
    let p = config.parameters() as f64;
    parts.push((Part::Optimizer, element_wise(14.0 * p, 7.0 * p)));
    parts
}

/// FLOP of a training step for attention's scores, in all layers, forward and backward.
pub fn score_flops(config: &ModelConfig, recipe: &Recipe) -> f64 {
    let core = Shapes::new(config).attention_core(recipe);
    config.layers as f64 * (core.flops + backward(core).flops)
}

/// Work of `flops` operations that read or write `elements` elements.
fn element_wise(flops: f64, elements: f64) -> Work {
    Work {
        flops,
        bytes: elements * ELEMENT,
    }
}

/// `[rows, inner] x [inner, columns]`.
fn product(rows: f64, inner: f64, columns: f64) -> Work {
    let elements = rows * inner + inner * columns + rows * columns;
    element_wise(2.0 * rows * inner * columns, elements)
}

/// Every product has two products in the backward pass, for its operand and its weight. Element-wise work needs about
/// twice as much, too.
fn backward(forward: Work) -> Work {
    forward + forward
}

/// A model's sizes as floating-point numbers.
struct Shapes {
    /// Tokens.
    n: f64,
    d: f64,
    kv: f64,
    f: f64,
    v: f64,
    head_dim: f64,
    /// Score elements of all heads, S x S each.
    scores: f64,
}

impl Shapes {
    fn new(config: &ModelConfig) -> Self {
        let heads = (config.batch_size * config.heads) as f64;
        Shapes {
            n: config.tokens() as f64,
            d: config.hidden as f64,
            kv: (config.kv_heads * config.head_dim()) as f64,
            f: config.ffn as f64,
            v: config.vocabulary as f64,
            head_dim: config.head_dim() as f64,
            scores: heads * (config.sequence_length as f64).powi(2),
        }
    }

    /// Work of adding a part's output to the residual stream.
    fn residual(&self) -> Work {
        element_wise(self.n * self.d, 3.0 * self.n * self.d)
    }

    fn attention(&self, recipe: &Recipe) -> Work {
        let Shapes { n, d, kv, .. } = *self;
        let projections = match recipe.qkv {
            Projection::Separate => product(n, d, d) + product(n, d, kv) + product(n, d, kv),
            Projection::Fused => product(n, d, d + 2.0 * kv),
        };
        let rotary = element_wise(n * (d + kv) * 3.0, 2.0 * n * (d + kv));
        projections + rotary + self.attention_core(recipe) + product(n, d, d) + self.residual()
    }

    /// Work of attention on queries, keys and values: everything that grows with the square of the sequence length.
    fn attention_core(&self, recipe: &Recipe) -> Work {
        let Shapes {
            n, d, kv, scores, ..
        } = *self;
        match recipe.attention {
            // Two products cover all S x S scores, including masked ones, with scale, mask and softmax (4) between
            // them. Product, scale, mask and softmax each write and read the scores, and the second product reads
            // them.
            Attention::Materialised => element_wise(
                scores * (4.0 * self.head_dim + 6.0),
                4.0 * n * d + 8.0 * scores,
            ),
            // The kernel works only on pairs up to the diagonal. It moves only queries, keys, values and results.
            Attention::Kernel => element_wise(
                scores / 2.0 * (4.0 * self.head_dim + 4.0),
                2.0 * n * d + 2.0 * n * kv,
            ),
        }
    }

    fn feed_forward(&self, recipe: &Recipe) -> Work {
        let Shapes { n, d, f, .. } = *self;
        let gate_up = match recipe.gate_up {
            Projection::Separate => product(n, d, f) + product(n, d, f),
            Projection::Fused => product(n, d, 2.0 * f),
        };
        // silu is exp, add, divide, multiply. The product with up follows.
        let activation = element_wise(n * f * 5.0, 3.0 * n * f);
        gate_up + activation + product(n, f, d) + self.residual()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;

    const BASELINE: Recipe = Recipe::BASELINE;

    #[test]
    fn the_products_dominate_as_six_times_parameters_times_tokens() {
        let config = Preset::Medium.config();
        let step = training_step(&config, &BASELINE);
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
        let shapes = Shapes::new(&config);
        let fused = Recipe {
            qkv: Projection::Fused,
            ..BASELINE
        };
        let (apart, together) = (shapes.attention(&BASELINE), shapes.attention(&fused));
        let input = (config.tokens() * config.hidden) as f64;
        assert_eq!(apart.bytes - together.bytes, 2.0 * input * ELEMENT);
        assert_eq!(apart.flops, together.flops);
    }
}
