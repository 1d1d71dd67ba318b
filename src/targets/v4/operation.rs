//! What a step is made of: one value for each launch, with what it reads and writes.

use std::ops::Range;

use super::buffers::Handle;
use crate::model::{ModelConfig, NORM_EPSILON};

/// The name that sums over ranks have among kernels.
pub const SUM: &str = "all_reduce";

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

impl Product {
    /// `out = a b`.
    pub fn new([m, n, k]: [usize; 3], a: Handle, b: Handle, out: Handle) -> Self {
        Product {
            m,
            n,
            k,
            a,
            a_transposed: false,
            b,
            b_transposed: false,
            addend: None,
            out,
        }
    }

    /// The same with `b` as `[n, k]`.
    pub fn transpose_b(self) -> Self {
        Product {
            b_transposed: true,
            ..self
        }
    }

    pub fn flops(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

/// One launch. Shapes follow from the model's configuration: N tokens, D hidden, F feed-forward, V vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Lookup(Lookup),
    Normalize(Normalize),
    Product(Product),
    /// Products of equal shape, one for each of some layers: the gradients of their weights.
    WeightGradients(Vec<Product>),
    Attention(Attention),
    AttentionBackward(AttentionBackward),
    Activate(Activate),
    ActivateBackward(ActivateBackward),
    CrossEntropy(CrossEntropy),
    NormalizeBackward(NormalizeBackward),
    FinishNorms(FinishNorms),
    Scatter(Scatter),
    FinishLoss(FinishLoss),
    Sum(Sum),
    Advance(Advance),
    Update(Update),
}

/// `stream[n] = table[tokens[n]]`, and its normalisation as in [`Normalize`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    pub tokens: Handle,
    pub table: Handle,
    pub stream: Handle,
    pub weight: Handle,
    pub normed: Handle,
    pub scale: Handle,
}

/// `scale = 1 / sqrt(mean(stream²) + ε)` row by row, `normed = stream · scale · weight`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalize {
    pub stream: Handle,
    pub weight: Handle,
    pub normed: Handle,
    pub scale: Handle,
}

/// Rotates queries and keys, then causal attention: `qkv` `[N, D + 2 KV]` to `mixed` `[N, D]`. `log_sums` `[B, H, S]`
/// is what the backward pass needs to find the weights again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention {
    pub qkv: Handle,
    pub mixed: Handle,
    pub log_sums: Handle,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttentionBackward {
    pub qkv: Handle,
    pub mixed: Handle,
    pub log_sums: Handle,
    pub mixed_gradient: Handle,
    pub qkv_gradient: Handle,
}

/// `activated = silu(gate) · up`, `[N, 2F]` to `[N, F]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activate {
    pub gate_up: Handle,
    pub activated: Handle,
}

/// Replaces gate and up by their gradients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivateBackward {
    pub gate_up: Handle,
    pub activated_gradient: Handle,
}

/// Loss of each token and the gradient of their mean, in one pass over the logits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossEntropy {
    pub logits: Handle,
    pub targets: Handle,
    pub losses: Handle,
    pub logits_gradient: Handle,
}

/// Adds the gradient that comes through a norm to that of the stream (`first`: replaces it), and writes a copy for
/// matrix products. The weight's gradient is left as `partials`, one row for each group of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalizeBackward {
    pub normed_gradient: Handle,
    pub stream: Handle,
    pub scale: Handle,
    pub weight: Handle,
    pub stream_gradient: Handle,
    pub first: bool,
    pub copy: Option<Handle>,
    pub partials: Handle,
    /// Which norm's part of `partials`.
    pub norm: usize,
}

/// Sums the partial gradients of all norm weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishNorms {
    pub partials: Handle,
    pub gradients: Vec<Handle>,
}

/// Adds the stream's gradient to the rows of the embedding that were looked up, token by token in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scatter {
    pub tokens: Handle,
    pub stream_gradient: Handle,
    pub table_gradient: Handle,
}

/// Mean of the tokens' losses, into the next place of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishLoss {
    pub losses: Handle,
    pub ring: Handle,
}

/// Replaces ranges of all gradients by their sums over the ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    pub ranks: usize,
    pub ranges: Vec<Range<usize>>,
    pub gradients: Vec<Handle>,
}

impl Sum {
    pub fn elements(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }
}

/// Counts the update and works out its factors (bias corrections).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advance {
    pub factors: Handle,
}

/// AdamW over a range of all parameters, and their copies for matrix products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    pub factors: Handle,
    pub elements: Range<usize>,
    pub gradients: Vec<Handle>,
    pub weights: Vec<Handle>,
}

/// The exercise of the workbench that does an operation's work, and what its kernel is given here.
pub struct InPlace {
    pub exercise: &'static str,
    /// By the exercise's names, in the order of its arguments; none for an update, whose arrays are no buffers.
    pub arrays: Vec<(&'static str, Handle)>,
    /// They come behind the arrays.
    pub sizes: [(&'static str, usize); 2],
    /// The last argument.
    pub number: Option<(&'static str, f32)>,
}

impl Operation {
    /// Where somebody's kernel can take the place of this operation's; of `ranks` ranks.
    pub fn in_place(&self, config: &ModelConfig, ranks: usize) -> Option<InPlace> {
        let rows = ("rows", config.tokens());
        Some(match self {
            Operation::Normalize(op) => InPlace {
                exercise: "rmsnorm",
                arrays: vec![
                    ("x", op.stream),
                    ("weight", op.weight),
                    ("y", op.normed),
                    ("scale", op.scale),
                ],
                sizes: [rows, ("width", config.hidden)],
                number: Some(("epsilon", NORM_EPSILON as f32)),
            },
            Operation::Activate(op) => InPlace {
                exercise: "swiglu",
                arrays: vec![("gate_up", op.gate_up), ("out", op.activated)],
                sizes: [rows, ("width", config.ffn)],
                number: None,
            },
            Operation::CrossEntropy(op) => InPlace {
                exercise: "cross-entropy",
                arrays: vec![
                    ("logits", op.logits),
                    ("targets", op.targets),
                    ("losses", op.losses),
                    ("gradient", op.logits_gradient),
                ],
                sizes: [rows, ("classes", config.vocabulary)],
                // The mean over the whole batch, of which other ranks have the rest.
                number: Some(("share", 1.0 / (rows.1 * ranks) as f32)),
            },
            Operation::Update(op) => InPlace {
                exercise: "adamw",
                arrays: vec![],
                sizes: [("n", op.elements.len()); 2],
                number: None,
            },
            _ => return None,
        })
    }

    /// Name of the kernel, as shown to learners.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Lookup(_) => "lookup_normalize",
            Operation::Normalize(_) => "normalize",
            Operation::Product(product) => match (product.a_transposed, product.b_transposed) {
                (false, false) if product.addend.is_some() => "gemm_residual",
                (false, false) => "gemm",
                (true, _) => "gemm_weight_gradient",
                (false, true) => "gemm_transposed",
            },
            Operation::WeightGradients(_) => "gemm_weight_gradients",
            Operation::Attention(_) => "attention",
            Operation::AttentionBackward(_) => "attention_backward",
            Operation::Activate(_) => "swiglu",
            Operation::ActivateBackward(_) => "swiglu_backward",
            Operation::CrossEntropy(_) => "cross_entropy",
            Operation::NormalizeBackward(_) => "normalize_backward",
            Operation::FinishNorms(_) => "norm_gradients",
            Operation::Scatter(_) => "embedding_gradient",
            Operation::FinishLoss(_) => "loss",
            Operation::Sum(_) => SUM,
            Operation::Advance(_) => "adamw_factors",
            Operation::Update(_) => "adamw",
        }
    }

    /// Its matrix products; of anything else none.
    pub fn products(&self) -> &[Product] {
        match self {
            Operation::Product(product) => std::slice::from_ref(product),
            Operation::WeightGradients(products) => products,
            _ => &[],
        }
    }

    pub fn reads(&self) -> Vec<Handle> {
        match self {
            Operation::Lookup(op) => vec![op.tokens, op.table, op.weight],
            Operation::Normalize(op) => vec![op.stream, op.weight],
            Operation::Product(_) | Operation::WeightGradients(_) => {
                let operands =
                    |product: &Product| [Some(product.a), Some(product.b), product.addend];
                self.products()
                    .iter()
                    .flat_map(operands)
                    .flatten()
                    .collect()
            }
            Operation::Attention(op) => vec![op.qkv],
            Operation::AttentionBackward(op) => {
                vec![op.qkv, op.mixed, op.log_sums, op.mixed_gradient]
            }
            Operation::Activate(op) => vec![op.gate_up],
            Operation::ActivateBackward(op) => vec![op.gate_up, op.activated_gradient],
            Operation::CrossEntropy(op) => vec![op.logits, op.targets],
            Operation::NormalizeBackward(op) => {
                let passed = (!op.first).then_some(op.stream_gradient);
                let mut reads = vec![op.normed_gradient, op.stream, op.scale, op.weight];
                reads.extend(passed);
                reads
            }
            Operation::FinishNorms(op) => vec![op.partials],
            Operation::Scatter(op) => vec![op.tokens, op.stream_gradient, op.table_gradient],
            Operation::FinishLoss(op) => vec![op.losses, op.ring],
            Operation::Sum(op) => op.gradients.clone(),
            Operation::Advance(op) => vec![op.factors],
            Operation::Update(op) => [&op.gradients[..], &[op.factors]].concat(),
        }
    }

    pub fn writes(&self) -> Vec<Handle> {
        match self {
            Operation::Lookup(op) => vec![op.stream, op.normed, op.scale],
            Operation::Normalize(op) => vec![op.normed, op.scale],
            Operation::Product(_) | Operation::WeightGradients(_) => {
                self.products().iter().map(|product| product.out).collect()
            }
            Operation::Attention(op) => vec![op.mixed, op.log_sums],
            Operation::AttentionBackward(op) => vec![op.qkv_gradient],
            Operation::Activate(op) => vec![op.activated],
            Operation::ActivateBackward(op) => vec![op.gate_up],
            Operation::CrossEntropy(op) => vec![op.losses, op.logits_gradient],
            Operation::NormalizeBackward(op) => {
                let mut writes = vec![op.stream_gradient, op.partials];
                writes.extend(op.copy);
                writes
            }
            Operation::FinishNorms(op) => op.gradients.clone(),
            Operation::Scatter(op) => vec![op.table_gradient],
            Operation::FinishLoss(op) => vec![op.ring],
            Operation::Sum(op) => op.gradients.clone(),
            Operation::Advance(op) => vec![op.factors],
            Operation::Update(op) => op.weights.clone(),
        }
    }
}
