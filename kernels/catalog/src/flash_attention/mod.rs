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

pub mod reference;
mod tile;

pub use tile::{AttentionTile, tile_candidates};

use crate::kernel::{BlockSize, Budget, Kernel, Role, Sizes, Spill};

pub const KERNEL: Kernel = Kernel {
    name: "flash_attention",
    summary: "causal attention over grouped heads; scores never leave the chip",
    launches: "1 forward, 2 backward",
    role: Role::Attention,
    shape: "elements of queries and keys of s bytes, rows of all heads, head_dim features a head, pairs of a query and a key \
            it sees",
    // As is customary, the softmax (about 5 operations a pair) is not counted. Backward needs five products a pair, however
    // often the kernels repeat two of them.
    passes: passes!(|sizes| { queries = Shape::from_sizes(sizes).query_elements(), keys = Shape::from_sizes(sizes).key_elements(), rows = Shape::from_sizes(sizes).statistics(), pairs = Shape::from_sizes(sizes).pairs(), head_dim = sizes.head_dim(), s = 4 } =>
        ("forward", runs: sizes.layers, reads: (queries + 2 * keys) * s, writes: queries * s + 4 * rows,
         flops: 4 * head_dim * pairs),
        ("backward", runs: sizes.layers, reads: (3 * queries + 2 * keys) * s + 4 * rows, writes: (queries + 2 * keys) * s,
         flops: 10 * head_dim * pairs),
    ),
    block_size: Some(BlockSize {
        counts: "rows of a score tile",
        sizes: &[4, 8, 16, 32, 64],
        compiled: tile::compiled,
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
        Budget::new("flash_attention_query_gradient", 136, 52868),
        Budget::new("flash_attention_key_gradient", 136, 55040),
    ],
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

    /// The attention of one layer of a model.
    pub fn from_sizes(sizes: &Sizes) -> Shape {
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
    pub fn sides(&self) -> [usize; 5] {
        [
            self.batch,
            self.seq,
            self.heads,
            self.key_heads,
            self.head_dim,
        ]
    }

    /// Rows of a fused projection.
    pub fn tokens(&self) -> usize {
        self.batch * self.seq
    }

    /// Columns of a fused projection: every row holds its query heads, then its key heads, then its value heads.
    pub fn width(&self) -> usize {
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

    /// Pairs of a query and a key it sees, over all query heads.
    pub fn pairs(&self) -> u64 {
        let seq = self.seq as u64;
        self.batch as u64 * self.heads as u64 * (seq * (seq + 1) / 2)
    }
}
