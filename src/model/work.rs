//! Floating-point operations and bytes of a training step, counted from shapes.
//!
//! A multiply and an add are two operations. Element-wise work is counted with one operation per arithmetic operator of
//! its formula, `exp`, root and division included as one each. Bytes are the least an implementation with this recipe
//! must move: every operand read once and every result written once per operation that is carried out by itself, caches
//! not considered. The counts are inputs to a roofline, not measurements.

use super::config::ModelConfig;
use super::part::Part;
use super::recipe::{Attention, Projection, Recipe};

/// Bytes of an element; activations and parameters are f32.
const ELEMENT: f64 = 4.0;

/// Work of one part of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    pub part: Part,
    pub flops: f64,
    pub bytes: f64,
}

/// Work of a whole training step, part by part in the order they run.
pub fn training_step(config: &ModelConfig, recipe: &Recipe) -> Vec<Work> {
    let forward = forward(config, recipe);
    let backward = backward(&forward);
    let mut parts = forward;
    parts.push(backward);
    parts.push(optimizer(config));
    parts
}

fn forward(config: &ModelConfig, recipe: &Recipe) -> Vec<Work> {
    let n = config.tokens() as f64;
    let d = config.hidden as f64;
    let v = config.vocabulary as f64;
    let mut parts = vec![Work {
        part: Part::Embedding,
        flops: 0.0,
        bytes: 2.0 * n * d * ELEMENT,
    }];
    for layer in 0..config.layers {
        parts.push(attention(config, recipe, layer));
        parts.push(feed_forward(config, recipe, layer));
    }
    let norms = (2 * config.layers + 1) as f64;
    parts.push(Work {
        part: Part::Norm,
        // x², sum, / root, · weight over every element.
        flops: norms * n * d * 4.0,
        bytes: norms * (2.0 * n * d + d) * ELEMENT,
    });
    parts.push(product(Part::Head, n, d, v));
    parts.push(Work {
        part: Part::Loss,
        // maximum, subtract, exp, sum over the logits.
        flops: n * v * 4.0,
        bytes: n * v * ELEMENT,
    });
    parts
}

/// `[rows, inner] x [inner, columns]`.
fn product(part: Part, rows: f64, inner: f64, columns: f64) -> Work {
    Work {
        part,
        flops: 2.0 * rows * inner * columns,
        bytes: (rows * inner + inner * columns + rows * columns) * ELEMENT,
    }
}

fn attention(config: &ModelConfig, recipe: &Recipe, layer: usize) -> Work {
    let part = Part::Attention(layer);
    let n = config.tokens() as f64;
    let d = config.hidden as f64;
    let kv = (config.kv_heads * config.head_dim()) as f64;
    let projections = match recipe.qkv {
        Projection::Separate => sum(
            part,
            &[
                product(part, n, d, d),
                product(part, n, d, kv),
                product(part, n, d, kv),
            ],
        ),
        Projection::Fused => product(part, n, d, d + 2.0 * kv),
    };
    let rotary = Work {
        part,
        flops: n * (d + kv) * 3.0,
        bytes: 2.0 * n * (d + kv) * ELEMENT,
    };
    let core = attention_core(config, recipe, part);
    let output = product(part, n, d, d);
    let residual = Work {
        part,
        flops: n * d,
        bytes: 3.0 * n * d * ELEMENT,
    };
    sum(part, &[projections, rotary, core, output, residual])
}

/// What becomes of queries, keys and values: everything that grows with the square of the sequence.
fn attention_core(config: &ModelConfig, recipe: &Recipe, part: Part) -> Work {
    let n = config.tokens() as f64;
    let d = config.hidden as f64;
    let kv = (config.kv_heads * config.head_dim()) as f64;
    let scores =
        (config.batch_size * config.heads) as f64 * (config.sequence_length as f64).powi(2);
    match recipe.attention {
        // Two products over all S x S scores, masked ones included; scale, mask and softmax (4) between them. The
        // scores are written and read by each of: product, scale, mask, softmax; and read by the second product.
        Attention::Materialised => Work {
            part,
            flops: scores * (4.0 * config.head_dim() as f64 + 6.0),
            bytes: (2.0 * n * d + 2.0 * n * d + 8.0 * scores) * ELEMENT,
        },
        // As below, with keys and values repeated for every query head: read from where they were projected, written and
        // read again; and scores computed a second time for the log-sum-exp, from queries and keys.
        Attention::Library => Work {
            part,
            flops: scores / 2.0 * (6.0 * config.head_dim() as f64 + 7.0),
            bytes: (2.0 * n * kv + 8.0 * n * d) * ELEMENT,
        },
        // Only pairs up to the diagonal are worked on, and only queries, keys, values and results are moved.
        Attention::Kernel => Work {
            part,
            flops: scores / 2.0 * (4.0 * config.head_dim() as f64 + 4.0),
            bytes: (2.0 * n * d + 2.0 * n * kv) * ELEMENT,
        },
    }
}

/// FLOP of a training step that belong to attention's scores, in all layers, forward and backward.
pub fn score_flops(config: &ModelConfig, recipe: &Recipe) -> f64 {
    let core = attention_core(config, recipe, Part::Attention(0));
    let backward = backward(std::slice::from_ref(&core));
    config.layers as f64 * (core.flops + backward.flops)
}

fn feed_forward(config: &ModelConfig, recipe: &Recipe, layer: usize) -> Work {
    let part = Part::FeedForward(layer);
    let n = config.tokens() as f64;
    let (d, f) = (config.hidden as f64, config.ffn as f64);
    let gate_up = match recipe.gate_up {
        Projection::Separate => sum(part, &[product(part, n, d, f), product(part, n, d, f)]),
        Projection::Fused => product(part, n, d, 2.0 * f),
    };
    let activation = Work {
        part,
        // silu is exp, add, divide, multiply; then the product with up.
        flops: n * f * 5.0,
        bytes: 3.0 * n * f * ELEMENT,
    };
    let down = product(part, n, f, d);
    let residual = Work {
        part,
        flops: n * d,
        bytes: 3.0 * n * d * ELEMENT,
    };
    sum(part, &[gate_up, activation, down, residual])
}

/// Every product has two in the backward pass, for its operand and for its weight; element-wise work about as many.
fn backward(forward: &[Work]) -> Work {
    let total = sum(Part::Backward, forward);
    Work {
        flops: 2.0 * total.flops,
        bytes: 2.0 * total.bytes,
        ..total
    }
}

/// AdamW reads parameter, gradient and two moments and writes all but the gradient; about 14 operations each.
fn optimizer(config: &ModelConfig) -> Work {
    let p = config.parameters() as f64;
    Work {
        part: Part::Optimizer,
        flops: 14.0 * p,
        bytes: 7.0 * p * ELEMENT,
    }
}

fn sum(part: Part, works: &[Work]) -> Work {
    Work {
        part,
        flops: works.iter().map(|work| work.flops).sum(),
        bytes: works.iter().map(|work| work.bytes).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Preset, Target};

    #[test]
    fn the_products_dominate_as_six_times_parameters_times_tokens() {
        let config = Preset::Medium.config();
        let step = training_step(&config, &Target::V1.recipe());
        let flops: f64 = step.iter().map(|work| work.flops).sum();
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
        let mut fused = Target::V1.recipe();
        fused.qkv = Projection::Fused;
        let bytes = |recipe| attention(&config, recipe, 0).bytes;
        let saved = bytes(&Target::V1.recipe()) - bytes(&fused);
        assert_eq!(
            saved,
            2.0 * (config.tokens() * config.hidden) as f64 * ELEMENT
        );
        assert_eq!(
            attention(&config, &Target::V1.recipe(), 0).flops,
            attention(&config, &fused, 0).flops
        );
    }
}
