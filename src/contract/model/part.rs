//! Parts of a training step, to which work and time are attributed.

use std::fmt;

/// A part of a training step, as shown to learners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Looking tokens up in the embedding table.
    Embedding,
    /// The attention of block `i`, its norm and residual included where they are fused with it.
    Attention(usize),
    /// The feed-forward network of block `i`.
    FeedForward(usize),
    /// A normalisation launched by itself.
    Norm,
    /// The output projection to logits.
    Head,
    /// Cross entropy.
    Loss,
    /// The backward pass, which autodiff runs as one.
    Backward,
    /// The parameter update.
    Optimizer,
    /// Outside every part: initialisation, reading the loss back.
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
