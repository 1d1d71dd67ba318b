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

mod binding;
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

pub use binding::{
    KeyValueLayout, library_attention, rotary_attention, rotary_attention_gradient,
    rotary_attention_saved,
};
use block::{AttentionTile, FlashAttentionBlock};
use launch::{backward, forward};
use view::HeadView;

use crate::kernel::{BlockSize, Budget, Kernel, Role, Sizes, Spill};
use crate::{
    KernelError,
    launch::{F32, check_shape},
};

const NAME: &str = "flash_attention";

pub const KERNEL: Kernel = Kernel {
    name: NAME,
    summary: "causal attention over grouped heads; scores never leave the chip",
    launches: "1 forward, 2 backward; 1 for the log-sum-exp alone",
    role: Role::Attention,
    shape: "elements of queries and keys of s bytes, rows of all heads, head_dim features a head, pairs of a query and a key \
            it sees",
    // As is customary, the softmax (about 5 operations a pair) is not counted. Backward needs five products a pair, however
    // often the kernels repeat two of them.
    passes: passes!(|sizes| { queries = Shape::of(sizes).query_elements(), keys = Shape::of(sizes).key_elements(), rows = Shape::of(sizes).statistics(), pairs = Shape::of(sizes).pairs(), head_dim = sizes.head_dim(), s = 4 } =>
        ("forward", runs: sizes.layers, reads: (queries + 2 * keys) * s, writes: queries * s + 4 * rows,
         flops: 4 * head_dim * pairs),
        ("log-sum-exp", reads: (queries + keys) * s, writes: 4 * rows, flops: 2 * head_dim * pairs),
        ("backward", runs: sizes.layers, reads: (3 * queries + 2 * keys) * s + 4 * rows, writes: (queries + 2 * keys) * s,
         flops: 10 * head_dim * pairs),
    ),
    block_size: Some(BlockSize {
        counts: "rows of a score tile",
        sizes: &[4, 8, 16, 32, 64],
        compiled: block::compiled,
        depends_on_sizes: true,
    }),
    block: AttentionTile::FIELDS,
    budgets: &[
        Budget {
            spills: &[Spill {
                case: "small, tile of 8x16 units, 2 rows and 4 columns each",
                vgpr_spills: 1,
                scratch_bytes: 8,
                reason: "found by this gate on gfx90a and gfx942; no device gets this tile unless it is asked for",
            }],
            ..Budget::new("flash_attention_forward", 152, 55044)
        },
        Budget::new("flash_attention_log_sum_exp", 152, 33800),
        Budget::new("flash_attention_query_gradient", 136, 52868),
        Budget::new("flash_attention_key_gradient", 136, 55040),
    ],
    // Queries, keys and values as columns of one projection, as the model has them.
    sample: |room, sizes, dtype, tile| {
        let client = room.client().clone();
        let shape = Shape::of(sizes);
        let block = FlashAttentionBlock::new(&client, shape, tile);
        let all = shape.tokens() * shape.width();
        let [query, key, value] = HeadView::fused(&room.input("qkv", all, dtype), shape);
        let gradient = room.output("qkv_gradient", all, dtype);
        let [query_gradient, key_gradient, value_gradient] = HeadView::fused(&gradient, shape);
        let [output, output_gradient] = ["output", "output_gradient"].map(|name| {
            let handle = room.input(name, shape.query_elements(), dtype);
            HeadView::rows_first(&handle, shape, shape.heads)
        });
        let [log_sum_exp, delta] =
            ["log_sum_exp", "delta"].map(|name| room.output(name, shape.statistics(), F32));
        Box::new(move |pass| match pass {
            "forward" => {
                let views = [&query, &key, &value, &output];
                forward(&client, views, &log_sum_exp, shape, dtype, &block)
            }
            "log-sum-exp" => {
                let views = [&query, &key];
                launch::log_sum_exp(&client, views, &log_sum_exp, shape, dtype, &block)
            }
            _ => {
                let upstream = &output_gradient;
                let [dq, dk, dv] = [&query_gradient, &key_gradient, &value_gradient];
                let views = [&query, &key, &value, &output, upstream, dq, dk, dv];
                let statistics = [&log_sum_exp, &delta];
                backward(&client, views, statistics, shape, dtype, &block)
            }
        })
    },
    check: check::check,
};

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

    pub(crate) fn of(sizes: &Sizes) -> Shape {
        let Sizes {
            batch,
            sequence,
            heads,
            key_heads,
            ..
        } = *sizes;
        Shape::new(batch, sequence, heads, key_heads, sizes.head_dim())
    }

    /// Sequences, their positions, query heads, key heads and the values of a head.
    pub(crate) fn sides(&self) -> [usize; 5] {
        [
            self.batch,
            self.seq,
            self.heads,
            self.key_heads,
            self.head_dim,
        ]
    }

    /// Rows of a fused projection.
    pub(crate) fn tokens(&self) -> usize {
        self.batch * self.seq
    }

    /// Columns of a fused projection: every row holds its query heads, then its key heads, then its value heads.
    pub(crate) fn width(&self) -> usize {
        (self.heads + 2 * self.key_heads) * self.head_dim
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
        let [batch, seq, heads, key_heads, head_dim] = self.sides();
        check_shape(NAME, &[batch, seq, heads, head_dim], &[])?;
        if key_heads == 0 || !heads.is_multiple_of(key_heads) {
            return Err(KernelError::Shape(
                NAME,
                format!("{heads} query heads cannot share {key_heads} key heads evenly"),
            ));
        }
        Ok(self.statistics())
    }

    /// Pairs of a query and a key it sees, over all query heads.
    fn pairs(&self) -> u64 {
        let seq = self.seq as u64;
        self.batch as u64 * self.heads as u64 * (seq * (seq + 1) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_without_meaning_are_refused() {
        assert!(Shape::new(2, 3, 6, 3, 8).check().is_ok());
        assert!(Shape::new(2, 3, 6, 4, 8).check().is_err());
        assert!(Shape::new(0, 3, 6, 3, 8).check().is_err());
        assert!(Shape::new(2, 3, 6, 0, 8).check().is_err());
        assert!(Shape::new(1 << 20, 1 << 10, 8, 8, 64).check().is_err());
    }
}
