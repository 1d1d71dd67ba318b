//! Rotary position embedding: consecutive pairs of a head's features turned by an angle that grows with the position.
//!
//! Pair `p` of a token at position `t` is a point in the plane, turned by `t · theta^(-2p / head_dim)` (Su et al., 2021, in
//! the pairing of the original LLaMA: features 2p and 2p + 1). Dot products of two turned vectors depend only on the
//! distance of their positions.
//!
//! Every element is read once and written once; the angles come from a table of cosines and sines, `seq · head_dim`
//! numbers that stay in cache. The table is made in f64 on the host: f32 angles would be off by thousandths at position
//! 10000, and sines on the device would make a kernel that waits for memory wait for arithmetic. The backward pass is the
//! same kernel turning the other way.
//!
//! Queries and keys are turned in one launch: in the output of a joint query-key-value product the heads to turn come
//! first and the values behind them are left alone.

mod reference;

pub use reference::{reference, table};

use crate::block::CubeBlock;
use crate::flash_attention as attention;
use crate::kernel::{Budget, Kernel, Role, UNITS_PER_CUBE};

pub const KERNEL: Kernel = Kernel {
    name: "rope",
    summary: "turns pairs of queries and keys by their position, in place",
    launches: "1 forward, 1 backward",
    role: Role::Attention,
    shape: "turned elements of s bytes, and angles (positions x features of a head) in f32",
    passes: passes!(|sizes| { turned = sizes.tokens() * (sizes.heads + sizes.key_heads) * sizes.head_dim(), angles = sizes.sequence * sizes.head_dim(), s = 4 } =>
        // Four products and two sums a pair.
        ("each way", runs: 2 * sizes.layers, reads: turned * s + 4 * angles, writes: turned * s, flops: 3 * turned),
        ("backward", reads: turned * s + 4 * angles, writes: turned * s, flops: 3 * turned),
    ),
    block_size: Some(UNITS_PER_CUBE),
    block: CubeBlock::FIELDS,
    budgets: &[Budget::new("rope_turn", 40, 0)],
};

/// Which dimension comes first after the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `[batch, seq, heads, head_dim]`, as matrix products leave it.
    TokenMajor,
    /// `[batch, heads, seq, head_dim]`.
    HeadMajor,
}

/// Shape of x and y.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub batch: usize,
    pub seq: usize,
    /// Heads of a token, those that are not turned included.
    pub heads: usize,
    /// How many heads, from the first, are turned.
    pub turned: usize,
    /// Features of a head; even.
    pub head_dim: usize,
    pub layout: Layout,
}

impl Shape {
    /// Queries and keys to turn, and values to leave alone, as a joint projection writes them.
    pub fn from_attention(shape: attention::Shape) -> Shape {
        Shape {
            batch: shape.batch,
            seq: shape.seq,
            heads: shape.heads + 2 * shape.key_heads,
            turned: shape.heads + shape.key_heads,
            head_dim: shape.head_dim,
            layout: Layout::TokenMajor,
        }
    }

    /// Sides of x and y, tokens first.
    pub fn elements(&self) -> [usize; 4] {
        [self.batch, self.seq, self.heads, self.head_dim]
    }

    /// The position of the token that `element` belongs to, `None` where its head is not turned.
    pub(crate) fn position(&self, element: usize) -> Option<usize> {
        let vector = element / self.head_dim;
        let (head, position) = match self.layout {
            Layout::TokenMajor => (vector % self.heads, vector / self.heads % self.seq),
            Layout::HeadMajor => (vector / self.seq % self.heads, vector % self.seq),
        };
        (head < self.turned).then_some(position)
    }
}
