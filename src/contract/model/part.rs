//! Parts of a training step. Work and time are attributed to them.

use std::fmt;

/// A part of a training step, as learners see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The lookup of tokens in the embedding table.
    Embedding,
    /// The attention of block `i`, including norm and residual if they are fused with it.
    Attention(usize),
    /// The feed-forward network of block `i`.
    FeedForward(usize),
    /// A normalisation with its own launch.
    Norm,
    /// The output projection to logits.
    Head,
    /// Cross entropy.
    Loss,
    /// The backward pass; autodiff runs it as one part.
    Backward,
    /// The parameter update.
    Optimizer,
    /// Work outside every part: initialisation, reading the loss back.
    Other,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Embedding => f.write_str("embedding"),
            Part::Attention(layer) => write!(f, "layer {layer} attention"),
            Part::FeedForward(layer) => write!(f, "layer {layer} ffn"),
            Part::Norm => f.write_str("norm"),
            Part::Head => f.write_str("head"),
            Part::Loss => f.write_str("loss"),
            Part::Backward => f.write_str("backward"),
            Part::Optimizer => f.write_str("optimizer"),
            Part::Other => f.write_str("other"),
        }
    }
}
