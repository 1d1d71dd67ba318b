//! What a step is made of: one value for each launch, with what it reads and writes.

use std::ops::Range;

use super::buffers::Handle;

/// A matrix product `out = op(a) op(b) (+ addend)`, `[m, k] x [k, n]`, everything row-major and without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: Handle,
    /// `a` is stored as `[k, m]`.
    pub a_transposed: bool,
    pub b: Handle,
    /// `b` is stored as `[n, k]`.
    pub b_transposed: bool,
    /// Added to the result; may be `out` itself.
    pub addend: Option<Handle>,
    pub out: Handle,
}

/// One launch. Shapes follow from the model's configuration: N tokens, D hidden, F feed-forward, V vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `stream[n] = table[tokens[n]]`, and its normalisation as in [`Normalize`](Self::Normalize).
    Lookup {
        tokens: Handle,
        table: Handle,
        stream: Handle,
        weight: Handle,
        normed: Handle,
        scale: Handle,
    },
    /// `scale = 1 / sqrt(mean(stream²) + ε)` row by row, `normed = stream · scale · weight`.
    Normalize {
        stream: Handle,
        weight: Handle,
        normed: Handle,
        scale: Handle,
    },
    Product(Product),
    /// Products of equal shape, one for each of some layers: the gradients of their weights.
    WeightGradients(Vec<Product>),
    /// Rotates queries and keys, then causal attention: `qkv` `[N, D + 2 KV]` to `mixed` `[N, D]`. `log_sums` `[B, H, S]`
    /// is what the backward pass needs to find the weights again.
    Attention {
        qkv: Handle,
        mixed: Handle,
        log_sums: Handle,
    },
    AttentionBackward {
        qkv: Handle,
        mixed: Handle,
        log_sums: Handle,
        mixed_gradient: Handle,
        qkv_gradient: Handle,
    },
    /// `activated = silu(gate) · up`, `[N, 2F]` to `[N, F]`.
    Activate {
        gate_up: Handle,
        activated: Handle,
    },
    /// Replaces gate and up by their gradients.
    ActivateBackward {
        gate_up: Handle,
        activated_gradient: Handle,
    },
    /// Loss of each token and the gradient of their mean, in one pass over the logits.
    CrossEntropy {
        logits: Handle,
        targets: Handle,
        losses: Handle,
        logits_gradient: Handle,
    },
    /// Adds the gradient that comes through a norm to that of the stream (`first`: replaces it), and writes a copy for
    /// matrix products. The weight's gradient is left as `partials`, one row for each group of tokens.
    NormalizeBackward {
        normed_gradient: Handle,
        stream: Handle,
        scale: Handle,
        weight: Handle,
        stream_gradient: Handle,
        first: bool,
        copy: Option<Handle>,
        partials: Handle,
        /// Which norm's part of `partials`.
        norm: usize,
    },
    /// Sums the partial gradients of all norm weights.
    FinishNorms {
        partials: Handle,
        gradients: Vec<Handle>,
    },
    /// Adds the stream's gradient to the rows of the embedding that were looked up, token by token in order.
    Scatter {
        tokens: Handle,
        stream_gradient: Handle,
        table_gradient: Handle,
    },
    /// Mean of the tokens' losses, into the next place of a ring.
    FinishLoss {
        losses: Handle,
        ring: Handle,
    },
    /// Counts the update and works out its factors (bias corrections).
    Advance {
        factors: Handle,
    },
    /// AdamW over a range of all parameters, and their copies for matrix products.
    Update {
        factors: Handle,
        elements: Range<usize>,
        gradients: Vec<Handle>,
        weights: Vec<Handle>,
    },
}

impl Operation {
    /// Name of the kernel, as shown to learners.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Lookup { .. } => "lookup_normalize",
            Operation::Normalize { .. } => "normalize",
            Operation::Product(product) => match (product.a_transposed, product.b_transposed) {
                (false, false) if product.addend.is_some() => "gemm_residual",
                (false, false) => "gemm",
                (true, _) => "gemm_weight_gradient",
                (false, true) => "gemm_transposed",
            },
            Operation::WeightGradients(_) => "gemm_weight_gradients",
            Operation::Attention { .. } => "attention",
            Operation::AttentionBackward { .. } => "attention_backward",
            Operation::Activate { .. } => "swiglu",
            Operation::ActivateBackward { .. } => "swiglu_backward",
            Operation::CrossEntropy { .. } => "cross_entropy",
            Operation::NormalizeBackward { .. } => "normalize_backward",
            Operation::FinishNorms { .. } => "norm_gradients",
            Operation::Scatter { .. } => "embedding_gradient",
            Operation::FinishLoss { .. } => "loss",
            Operation::Advance { .. } => "adamw_factors",
            Operation::Update { .. } => "adamw",
        }
    }

    pub fn reads(&self) -> Vec<Handle> {
        match self {
            Operation::Lookup {
                tokens,
                table,
                weight,
                ..
            } => vec![*tokens, *table, *weight],
            Operation::Normalize { stream, weight, .. } => vec![*stream, *weight],
            Operation::Product(product) => {
                let mut reads = vec![product.a, product.b];
                reads.extend(product.addend);
                reads
            }
            Operation::WeightGradients(products) => products
                .iter()
                .flat_map(|product| [product.a, product.b])
                .collect(),
            Operation::Attention { qkv, .. } => vec![*qkv],
            Operation::AttentionBackward {
                qkv,
                mixed,
                log_sums,
                mixed_gradient,
                ..
            } => vec![*qkv, *mixed, *log_sums, *mixed_gradient],
            Operation::Activate { gate_up, .. } => vec![*gate_up],
            Operation::ActivateBackward {
                gate_up,
                activated_gradient,
            } => vec![*gate_up, *activated_gradient],
            Operation::CrossEntropy {
                logits, targets, ..
            } => vec![*logits, *targets],
            Operation::NormalizeBackward {
                normed_gradient,
                stream,
                scale,
                weight,
                stream_gradient,
                first,
                ..
            } => {
                let mut reads = vec![*normed_gradient, *stream, *scale, *weight];
                if !first {
                    reads.push(*stream_gradient);
                }
                reads
            }
            Operation::FinishNorms { partials, .. } => vec![*partials],
            Operation::Scatter {
                tokens,
                stream_gradient,
                table_gradient,
            } => vec![*tokens, *stream_gradient, *table_gradient],
            Operation::FinishLoss { losses, ring } => vec![*losses, *ring],
            Operation::Advance { factors } => vec![*factors],
            Operation::Update {
                factors, gradients, ..
            } => {
                let mut reads = gradients.clone();
                reads.push(*factors);
                reads
            }
        }
    }

    pub fn writes(&self) -> Vec<Handle> {
        match self {
            Operation::Lookup {
                stream,
                normed,
                scale,
                ..
            } => vec![*stream, *normed, *scale],
            Operation::Normalize { normed, scale, .. } => vec![*normed, *scale],
            Operation::Product(product) => vec![product.out],
            Operation::WeightGradients(products) => {
                products.iter().map(|product| product.out).collect()
            }
            Operation::Attention {
                mixed, log_sums, ..
            } => vec![*mixed, *log_sums],
            Operation::AttentionBackward { qkv_gradient, .. } => vec![*qkv_gradient],
            Operation::Activate { activated, .. } => vec![*activated],
            Operation::ActivateBackward { gate_up, .. } => vec![*gate_up],
            Operation::CrossEntropy {
                losses,
                logits_gradient,
                ..
            } => vec![*losses, *logits_gradient],
            Operation::NormalizeBackward {
                stream_gradient,
                copy,
                partials,
                ..
            } => {
                let mut writes = vec![*stream_gradient, *partials];
                writes.extend(*copy);
                writes
            }
            Operation::FinishNorms { gradients, .. } => gradients.clone(),
            Operation::Scatter { table_gradient, .. } => vec![*table_gradient],
            Operation::FinishLoss { ring, .. } => vec![*ring],
            Operation::Advance { factors } => vec![*factors],
            Operation::Update { weights, .. } => weights.clone(),
        }
    }
}
