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

mod check;
mod kernels;
mod launch;
mod reference;

pub use check::check;
pub use kernels::rope_turn;
pub use launch::{Buffers, RopeBlock, turn};
pub use reference::{reference, table};

use cubecl::ir::ElemType;

use crate::{Cost, launch::F32};

const KERNEL: &str = "rope";

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
    pub(super) fn elements(&self) -> [usize; 4] {
        [self.batch, self.seq, self.heads, self.head_dim]
    }

    /// The position of the token that `element` belongs to, `None` where its head is not turned.
    pub(super) fn position(&self, element: usize) -> Option<usize> {
        let vector = element / self.head_dim;
        let (head, position) = match self.layout {
            Layout::TokenMajor => (vector % self.heads, vector / self.heads % self.seq),
            Layout::HeadMajor => (vector / self.seq % self.heads, vector % self.seq),
        };
        (head < self.turned).then_some(position)
    }
}

/// What [`turn`] must move and compute: the turned heads once each way, and the table.
pub fn cost(shape: Shape, dtype: ElemType) -> Cost {
    let elements = (shape.batch * shape.seq * shape.turned * shape.head_dim) as u64;
    let moved = elements * dtype.size() as u64;
    Cost {
        bytes_read: moved + (shape.seq * shape.head_dim * F32.size()) as u64,
        bytes_written: moved,
        // Four products and two sums a pair.
        flops: 3 * elements,
    }
}
