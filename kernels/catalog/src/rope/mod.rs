//! Rotary position embedding: rotates consecutive pairs of a head's features by an angle that grows with the position.
//!
//! Pair `p` of a token at position `t` is a point in the plane. It rotates by `t · theta^(-2p / head_dim)` (Su et al.,
//! 2021, in the pairing of the original LLaMA: features 2p and 2p + 1). Dot products of two rotated vectors depend only
//! on the distance of their positions.
//!
//! Every element is read once and written once. The angles come from a table of cosines and sines, `seq · head_dim`
//! numbers that stay in cache. The host makes the table in f64, because f32 angles would be wrong by thousandths at
//! position 10000. Sines on the device would turn a kernel that waits for memory into one that waits for arithmetic.
//! The backward pass is the same kernel with the opposite rotation.
//!
//! One launch rotates queries and keys: in the output of a joint query-key-value product, the heads to rotate come
//! first, and the values after them stay unchanged.

mod reference;

pub use reference::{reference, table};

use crate::block::CubeBlock;
use crate::flash_attention as attention;
use crate::kernel::{KernelDescriptor, ResourceBudget, Role, UNITS_PER_CUBE};

pub const KERNEL: KernelDescriptor = KernelDescriptor {
    name: "rope",
    summary: "turns pairs of queries and keys by their position, in place",
    launches: "1 forward, 1 backward",
    role: Role::Attention,
    shape: "turned elements of s bytes, and angles (positions x features of a head) in f32",
    passes: passes!(|sizes| { turned = sizes.tokens() * (sizes.heads + sizes.key_heads) * sizes.head_dim(), angles = sizes.sequence * sizes.head_dim(), s = 4 } =>
        // Four products and two sums per pair.
        ("each way", runs: 2 * sizes.layers, reads: turned * s + 4 * angles, writes: turned * s, flops: 3 * turned),
        ("backward", reads: turned * s + 4 * angles, writes: turned * s, flops: 3 * turned),
    ),
    block_size: Some(UNITS_PER_CUBE),
    block: CubeBlock::FIELDS,
    budgets: &[ResourceBudget::new("rope_turn", 40, 0)],
};

/// Which dimension comes first after the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RopeLayout {
    /// `[batch, seq, heads, head_dim]`, as matrix products write it.
    TokenMajor,
    /// `[batch, heads, seq, head_dim]`.
    HeadMajor,
}

/// Shape of x and y.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RopeShape {
    pub batch: usize,
    pub seq: usize,
    /// Heads per token, including those that are not rotated.
    pub heads: usize,
    /// Number of heads, from the first, that are rotated.
    pub turned: usize,
    /// Features per head; an even number.
    pub head_dim: usize,
    pub layout: RopeLayout,
}

impl RopeShape {
    /// Returns the shape of a joint projection: queries and keys to rotate, then values to keep.
    pub fn from_attention(shape: attention::AttentionShape) -> RopeShape {
        RopeShape {
            batch: shape.batch,
            seq: shape.seq,
            heads: shape.heads + 2 * shape.key_heads,
            turned: shape.heads + shape.key_heads,
            head_dim: shape.head_dim,
            layout: RopeLayout::TokenMajor,
        }
    }

    /// Returns the dimensions of x and y, tokens first.
    pub fn elements(&self) -> [usize; 4] {
        [self.batch, self.seq, self.heads, self.head_dim]
    }

    /// Returns the position of the token to which `element` belongs, or `None` if its head is not rotated.
    pub(crate) fn position(&self, element: usize) -> Option<usize> {
        let vector = element / self.head_dim;
        let (head, position) = match self.layout {
            RopeLayout::TokenMajor => (vector % self.heads, vector / self.heads % self.seq),
            RopeLayout::HeadMajor => (vector / self.seq % self.heads, vector % self.seq),
        };
        (head < self.turned).then_some(position)
    }
}
