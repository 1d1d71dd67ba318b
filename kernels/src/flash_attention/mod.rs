//! Causal attention with grouped query heads, without ever writing the score matrix to memory.
//!
//! For each query `q_i` of a head: `o_i = sum over j <= i of softmax_j(scale q_i . k_j) v_j`. Written out, scores and
//! weights take `seq^2` values a head; here a cube keeps a block of queries in shared memory, walks over the keys block by
//! block and carries only a running maximum, a running sum and the unfinished output row (Dao et al. 2022, with the
//! online softmax of Milakov and Gimelshein 2018). Work stays `O(seq^2)`, memory falls to `O(seq)`.
//!
//! Several query heads share one key head (GQA): kernels divide the head's number by the size of the group, and no key
//! is ever repeated in memory.
//!
//! The backward pass recomputes the weights from the saved log-sum-exp, one f32 a row. Two kernels: one owns queries
//! and walks over keys (`dq`), one owns keys and walks over queries (`dk`, `dv`), so every gradient has one writer, no
//! atomics, and the same bits each time.
//!
//! Bytes that must move: forward reads q, k, v and writes o and one f32 a row; backward reads q, k, v, o, do and that
//! f32 and writes dq, dk, dv. Operations: 4 `head_dim` for each pair of query and visible key forward, 10 backward. The
//! two kernels together spend 14, since both need scores and `do . v`.

mod block;
mod check;
mod forward_kernel;
mod key_gradient;
mod launch;
mod log_sum_exp_kernel;
mod query_gradient;
pub mod reference;
mod tile;
mod view;

pub(crate) use block::candidates;
pub use block::{AttentionTile, FlashAttentionBlock};
pub use check::{Layout, check, check_shape, shapes, tiles};
pub use forward_kernel::flash_attention_forward;
pub use key_gradient::flash_attention_key_gradient;
pub use launch::{Backward, Forward, LogSumExp, backward, forward, log_sum_exp};
pub use log_sum_exp_kernel::flash_attention_log_sum_exp;
pub use query_gradient::flash_attention_query_gradient;
pub use tile::{Lengths, Rows, Tiling};
pub use view::{HeadView, Place};

use cubecl::ir::ElemType;

use crate::{Cost, KernelError, launch::check_elements};

const KERNEL: &str = "flash_attention";

/// Sizes of an attention: `batch` sequences of `seq` positions, `heads` query heads that share `key_heads` key and
/// value heads, `head_dim` values each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    pub batch: usize,
    pub seq: usize,
    pub heads: usize,
    pub key_heads: usize,
    pub head_dim: usize,
    /// Factor of the scores.
    pub scale: f32,
}

impl Shape {
    /// A shape with the usual scale, one over the square root of `head_dim`.
    pub fn new(batch: usize, seq: usize, heads: usize, key_heads: usize, head_dim: usize) -> Shape {
        Shape {
            batch,
            seq,
            heads,
            key_heads,
            head_dim,
            scale: (1.0 / (head_dim as f64).sqrt()) as f32,
        }
    }

    /// Query heads that share a key head.
    pub fn group(&self) -> usize {
        self.heads / self.key_heads
    }

    /// Elements of queries, outputs and their gradients.
    pub fn query_elements(&self) -> usize {
        self.batch * self.seq * self.heads * self.head_dim
    }

    /// Elements of keys, of values and of their gradients.
    pub fn key_elements(&self) -> usize {
        self.batch * self.seq * self.key_heads * self.head_dim
    }

    /// Rows, each with one log-sum-exp and one delta.
    pub fn statistics(&self) -> usize {
        self.batch * self.heads * self.seq
    }

    /// Refuses shapes without meaning; otherwise the number of rows.
    fn check(&self) -> Result<usize, KernelError> {
        let refuse = |reason: String| KernelError::Shape {
            kernel: KERNEL,
            reason,
        };
        let sizes = [
            self.batch,
            self.seq,
            self.heads,
            self.key_heads,
            self.head_dim,
        ];
        if sizes.contains(&0) {
            return Err(refuse(format!(
                "batch, seq, heads, key_heads and head_dim must be at least 1, got {sizes:?}"
            )));
        }
        if !self.heads.is_multiple_of(self.key_heads) {
            return Err(refuse(format!(
                "{} query heads cannot share {} key heads evenly",
                self.heads, self.key_heads
            )));
        }
        check_elements(KERNEL, &[self.batch, self.seq, self.heads, self.head_dim])?;
        Ok(self.statistics())
    }

    /// Pairs of a query and a key it sees, over all query heads.
    fn pairs(&self) -> u64 {
        let seq = self.seq as u64;
        self.batch as u64 * self.heads as u64 * (seq * (seq + 1) / 2)
    }
}

/// What a forward pass moves and computes with elements of type `dtype`; the softmax (about 5 operations a pair)
/// is not counted, as is customary.
pub fn forward_cost(shape: Shape, dtype: ElemType) -> Cost {
    let (queries, keys) = (shape.query_elements() as u64, shape.key_elements() as u64);
    let size = dtype.size() as u64;
    Cost {
        bytes_read: (queries + 2 * keys) * size,
        bytes_written: queries * size + shape.statistics() as u64 * 4,
        flops: 4 * shape.head_dim as u64 * shape.pairs(),
    }
}

/// What a backward pass must move and compute: five products a pair, however often the kernels repeat two of them.
pub fn backward_cost(shape: Shape, dtype: ElemType) -> Cost {
    let (queries, keys) = (shape.query_elements() as u64, shape.key_elements() as u64);
    let size = dtype.size() as u64;
    Cost {
        bytes_read: (3 * queries + 2 * keys) * size + shape.statistics() as u64 * 4,
        bytes_written: (queries + 2 * keys) * size,
        flops: 10 * shape.head_dim as u64 * shape.pairs(),
    }
}

#[cfg(test)]
mod tests {
    use cubecl::ir::FloatKind;

    use super::*;

    #[test]
    fn shapes_without_meaning_are_refused() {
        assert!(Shape::new(2, 3, 6, 3, 8).check().is_ok());
        assert!(Shape::new(2, 3, 6, 4, 8).check().is_err());
        assert!(Shape::new(0, 3, 6, 3, 8).check().is_err());
        assert!(Shape::new(2, 3, 6, 0, 8).check().is_err());
        assert!(Shape::new(1 << 20, 1 << 10, 8, 8, 64).check().is_err());
    }

    #[test]
    fn cost_is_what_the_module_says() {
        let shape = Shape::new(1, 2, 4, 2, 8);
        let forward = forward_cost(shape, ElemType::Float(FloatKind::BF16));
        assert_eq!(forward.bytes_read, 2 * (64 + 32 + 32));
        assert_eq!(forward.bytes_written, 2 * 64 + 4 * 8);
        // Two queries see three keys; multiply and add, for scores and for outputs.
        assert_eq!(forward.flops, 4 * 3 * (4 * 8));
        let backward = backward_cost(shape, ElemType::Float(FloatKind::BF16));
        assert_eq!(backward.bytes(), 2 * (4 * 64 + 4 * 32) + 4 * 8);
        assert_eq!(2 * backward.flops, 5 * forward.flops);
    }
}
