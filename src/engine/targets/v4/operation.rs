//! The operations of a step: one value for each launch, with the buffers that it reads and writes.

use std::ops::Range;

use super::buffers::BufferHandle;
use crate::model::{ModelConfig, NORM_EPSILON};

pub use tinyllama_contract::targets::v4::{GATHER, SCATTER, SUM};

/// A matrix product `out = op(a) op(b) (+ addend)`, `[m, k] x [k, n]`. All matrices are row-major and without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixProduct {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: BufferHandle,
    /// True if `a` is stored as `[k, m]`.
    pub a_transposed: bool,
    pub b: BufferHandle,
    /// True if `b` is stored as `[n, k]`.
    pub b_transposed: bool,
    /// Added to the result; may be `out` itself.
    pub addend: Option<BufferHandle>,
    pub out: BufferHandle,
}

impl MatrixProduct {
    /// Creates `out = a b`.
    pub fn new([m, n, k]: [usize; 3], a: BufferHandle, b: BufferHandle, out: BufferHandle) -> Self {
        MatrixProduct {
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

    /// Changes `b` to be stored as `[n, k]`.
    pub fn transpose_b(self) -> Self {
        MatrixProduct {
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
    MatrixProduct(MatrixProduct),
    /// Products of equal shape, one for each of some layers: the gradients of their weights.
    WeightGradients(Vec<MatrixProduct>),
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
    Gather(Gather),
    Advance(Advance),
    UpdateOperation(UpdateOperation),
}

/// How an operation uses a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Read,
    Write,
    Change,
}

impl Use {
    pub const ALL: [Use; 3] = [Use::Read, Use::Write, Use::Change];
}

/// Declares operations that are one kernel on buffers: its name, and its use of each buffer in the order of its arguments.
macro_rules! kernels {
    ($($(#[$doc:meta])* $operation:ident = $kernel:literal { $($buffer:ident: $use:ident),+ })+) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $operation { $(pub $buffer: BufferHandle),+ })+

        impl Operation {
            fn kernel(&self) -> Option<(&'static str, Vec<(BufferHandle, Use)>)> {
                match self {
                    $(Operation::$operation(op) => Some(($kernel, vec![$((op.$buffer, Use::$use)),+])),)+
                    _ => None,
                }
            }
        }
    };
}

kernels! {
    /// `stream[n] = table[tokens[n]]`, and its normalisation as in [`Normalize`].
    Lookup = "lookup_normalize" { tokens: Read, table: Read, stream: Write, weight: Read, normed: Write, scale: Write }
    /// `scale = 1 / sqrt(mean(stream²) + ε)` row by row, `normed = stream · scale · weight`.
    Normalize = "normalize" { stream: Read, weight: Read, normed: Write, scale: Write }
    /// Rotates queries and keys, then computes causal attention: `qkv` `[N, D + 2 KV]` to `mixed` `[N, D]`. The
    /// backward pass computes the weights again from `log_sums` `[B, H, S]`. In `rotated` `[N, D + KV]` a GPU keeps
    /// rotated queries and keys.
    Attention = "attention" { qkv: Read, rotated: Write, mixed: Write, log_sums: Write }
    AttentionBackward = "attention_backward" { qkv: Read, rotated: Read, mixed: Read, log_sums: Read, mixed_gradient: Read, qkv_gradient: Write }
    /// `activated = silu(gate) · up`, `[N, 2F]` to `[N, F]`.
    Activate = "swiglu" { gate_up: Read, activated: Write }
    /// Replaces gate and up by their gradients.
    ActivateBackward = "swiglu_backward" { gate_up: Change, activated_gradient: Read }
    /// Computes the loss of each token and the gradient of their mean, in one pass over the logits.
    CrossEntropy = "cross_entropy" { logits: Read, targets: Read, losses: Write, logits_gradient: Write }
    /// Adds the stream's gradient to the rows of the embedding that were looked up, token by token in order.
    Scatter = "embedding_gradient" { tokens: Read, stream_gradient: Read, table_gradient: Change }
    /// Writes the mean of the tokens' losses to the next place of a ring.
    FinishLoss = "loss" { losses: Read, ring: Change }
    /// Counts the update and computes its factors (bias corrections).
    Advance = "adamw_factors" { factors: Change }
}

/// Adds the gradient that comes through a norm to that of the stream (`first`: replaces it), and writes a copy for
/// matrix products. Writes the weight's gradient as `partials`, one row for each group of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalizeBackward {
    pub normed_gradient: BufferHandle,
    pub stream: BufferHandle,
    pub scale: BufferHandle,
    pub weight: BufferHandle,
    pub stream_gradient: BufferHandle,
    pub first: bool,
    pub copy: Option<BufferHandle>,
    pub partials: BufferHandle,
    /// Index of the norm, which selects its part of `partials`.
    pub norm: usize,
}

/// Sums the partial gradients of all norm weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishNorms {
    pub partials: BufferHandle,
    pub gradients: Vec<BufferHandle>,
}

/// Replaces ranges of all gradients by their sums over the ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    pub ranks: usize,
    pub ranges: Vec<Range<usize>>,
    /// True: each rank gets only its own part of each range. The rest of the range then keeps the rank's own gradients.
    pub scattered: bool,
    pub gradients: Vec<BufferHandle>,
}

impl Sum {
    pub fn elements(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }
}

/// Completes ranges of the parameters that matrix products read: each rank sends its own part to all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gather {
    pub ranks: usize,
    pub ranges: Vec<Range<usize>>,
    pub weights: Vec<BufferHandle>,
}

impl Gather {
    pub fn elements(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }
}

/// AdamW over a range of all parameters, and their copies for matrix products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateOperation {
    pub factors: BufferHandle,
    pub elements: Range<usize>,
    pub gradients: Vec<BufferHandle>,
    pub weights: Vec<BufferHandle>,
}

/// The arguments for a learner's kernel in the place of an operation's.
pub struct InPlace {
    /// Buffers by the exercise's names, in the order of its arguments; empty for an update, whose arrays are no buffers.
    pub arrays: Vec<(&'static str, BufferHandle)>,
    /// Sizes, which follow the arrays.
    pub sizes: [(&'static str, usize); 2],
    /// The last argument.
    pub number: Option<(&'static str, f32)>,
}

impl Operation {
    /// Describes how a learner's kernel can replace this operation's, in a run with `ranks` ranks; `None` if no
    /// exercise does its work.
    pub fn in_place(&self, config: &ModelConfig, ranks: usize) -> Option<InPlace> {
        let rows = ("rows", config.tokens());
        let (names, sizes, number): (&[_], _, _) = match self {
            Operation::Normalize(_) => (
                &["x", "weight", "y", "scale"],
                [rows, ("width", config.hidden)],
                Some(("epsilon", NORM_EPSILON as f32)),
            ),
            Operation::Activate(_) => (&["gate_up", "out"], [rows, ("width", config.ffn)], None),
            Operation::CrossEntropy(_) => (
                &["logits", "targets", "losses", "gradient"],
                [rows, ("classes", config.vocabulary)],
                // The share is for the mean over the whole batch, which includes the other ranks' parts.
                Some(("share", 1.0 / (rows.1 * ranks) as f32)),
            ),
            Operation::UpdateOperation(op) => (&[], [("n", op.elements.len()); 2], None),
            _ => return None,
        };
        Some(InPlace {
            arrays: names.iter().copied().zip(self.buffers(&Use::ALL)).collect(),
            sizes,
            number,
        })
    }

    /// Returns the name of the kernel, as learners see it.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::MatrixProduct(product) => match (product.a_transposed, product.b_transposed)
            {
                (false, false) if product.addend.is_some() => "gemm_residual",
                (false, false) => "gemm",
                (true, _) => "gemm_weight_gradient",
                (false, true) => "gemm_transposed",
            },
            Operation::WeightGradients(_) => "gemm_weight_gradients",
            Operation::NormalizeBackward(_) => "normalize_backward",
            Operation::FinishNorms(_) => "norm_gradients",
            Operation::Sum(Sum { scattered, .. }) if *scattered => SCATTER,
            Operation::Sum(_) => SUM,
            Operation::Gather(_) => GATHER,
            Operation::UpdateOperation(_) => "adamw",
            _ => self.kernel().map_or("", |(name, _)| name),
        }
    }

    /// Returns its matrix products; empty for other operations.
    pub fn products(&self) -> &[MatrixProduct] {
        match self {
            Operation::MatrixProduct(product) => std::slice::from_ref(product),
            Operation::WeightGradients(products) => products,
            _ => &[],
        }
    }

    pub fn reads(&self) -> Vec<BufferHandle> {
        match self {
            Operation::MatrixProduct(_) | Operation::WeightGradients(_) => {
                let operands =
                    |product: &MatrixProduct| [Some(product.a), Some(product.b), product.addend];
                self.products()
                    .iter()
                    .flat_map(operands)
                    .flatten()
                    .collect()
            }
            Operation::NormalizeBackward(op) => {
                let passed = (!op.first).then_some(op.stream_gradient);
                let mut reads = vec![op.normed_gradient, op.stream, op.scale, op.weight];
                reads.extend(passed);
                reads
            }
            Operation::FinishNorms(op) => vec![op.partials],
            Operation::Sum(op) => op.gradients.clone(),
            Operation::Gather(op) => op.weights.clone(),
            Operation::UpdateOperation(op) => [&op.gradients[..], &[op.factors]].concat(),
            _ => self.buffers(&[Use::Read, Use::Change]),
        }
    }

    pub fn writes(&self) -> Vec<BufferHandle> {
        match self {
            Operation::MatrixProduct(_) | Operation::WeightGradients(_) => {
                self.products().iter().map(|product| product.out).collect()
            }
            Operation::NormalizeBackward(op) => {
                let mut writes = vec![op.stream_gradient, op.partials];
                writes.extend(op.copy);
                writes
            }
            Operation::FinishNorms(op) => op.gradients.clone(),
            Operation::Sum(op) => op.gradients.clone(),
            Operation::Gather(op) => op.weights.clone(),
            Operation::UpdateOperation(op) => op.weights.clone(),
            _ => self.buffers(&[Use::Write, Use::Change]),
        }
    }

    /// Returns the buffers of a one-kernel operation with one of the `wanted` uses, in the order of its arguments.
    pub fn buffers(&self, wanted: &[Use]) -> Vec<BufferHandle> {
        let all = self.kernel().into_iter().flat_map(|(_, buffers)| buffers);
        let wanted = all.filter(|(_, does)| wanted.contains(does));
        wanted.map(|(handle, _)| handle).collect()
    }
}
