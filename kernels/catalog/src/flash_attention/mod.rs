//! Causal attention with grouped query heads, without writing the score matrix to memory.
//!
//! For each query `q_i` of a head: `o_i = sum over j <= i of softmax_j(scale q_i . k_j) v_j`. Scores and weights in
//! memory would take `seq^2` values per head. Here a cube keeps a block of queries in shared memory and processes the
//! keys block by block. It carries only a running maximum, a running sum and the unfinished output row (Dao et al.
//! 2022, with the online softmax of Milakov and Gimelshein 2018). Work stays `O(seq^2)`, memory falls to `O(seq)`.
//!
//! Several query heads share one key head (GQA). Kernels divide the head's number by the size of the group, so no key
//! is repeated in memory.
//!
//! The backward pass recomputes the weights from the saved log-sum-exp, one f32 per row. It has two kernels: one owns
//! queries and loops over keys (`dq`), the other owns keys and loops over queries (`dk`, `dv`). So every gradient has
//! one writer, needs no atomics, and has the same bits each time.
//!
//! The forward pass has to read q, k, v and to write o and one f32 per row. The backward pass has to read q, k, v, o,
//! do and that f32 and to write dq, dk, dv. Operations for each pair of query and visible key: 4 `head_dim` forward, 10
//! backward. The two backward kernels together spend 14, since both need scores and `do . v`.

pub mod reference;
mod tile;

pub use tile::{AttentionTile, tile_candidates};

use crate::kernel::{BlockSizeOption, KernelDescriptor, ResourceBudget, Role, Spill, StepSizes};

pub const KERNEL: KernelDescriptor = KernelDescriptor {
    name: "flash_attention",
    summary: "causal attention over grouped heads; scores never leave the chip",
    launches: "1 forward, 2 backward",
    role: Role::Attention,
    shape: "elements of queries and keys, s bytes each; rows of all heads; head_dim features per head; pairs \
            of a query and a key it sees",
    // By convention the softmax (about 5 operations per pair) does not count. Backward needs five products per pair;
    // the kernels compute two of them twice, which does not count either.
    passes: passes!(|sizes| { queries = AttentionShape::from_sizes(sizes).query_elements(), keys = AttentionShape::from_sizes(sizes).key_elements(), rows = AttentionShape::from_sizes(sizes).statistics(), pairs = AttentionShape::from_sizes(sizes).pairs(), head_dim = sizes.head_dim(), s = 4 } =>
        ("forward", runs: sizes.layers, reads: (queries + 2 * keys) * s, writes: queries * s + 4 * rows,
         flops: 4 * head_dim * pairs),
        ("backward", runs: sizes.layers, reads: (3 * queries + 2 * keys) * s + 4 * rows, writes: (queries + 2 * keys) * s,
         flops: 10 * head_dim * pairs),
    ),
    block_size: Some(BlockSizeOption {
        counts: "rows of a score tile",
        sizes: &[4, 8, 16, 32, 64],
        compiled: tile::compiled,
        depends_on_sizes: true,
    }),
    block: AttentionTile::FIELDS,
    budgets: &[
        ResourceBudget {
            spills: &[Spill {
                case: "small, tile of 8x16 units, 2 rows and 4 columns each",
                vgpr_spills: 1,
                scratch_bytes: 8,
                reason: "this check found it on gfx90a and gfx942; a device uses this tile only on request",
            }],
            ..ResourceBudget::new("flash_attention_forward", 152, 55044)
        },
        ResourceBudget::new("flash_attention_query_gradient", 136, 52868),
        ResourceBudget::new("flash_attention_key_gradient", 136, 55040),
    ],
};

/// Sizes of an attention: `batch` sequences of `seq` positions. `heads` query heads share `key_heads` key and value
/// heads, of `head_dim` values each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionShape {
    pub batch: usize,
    pub seq: usize,
    pub heads: usize,
    pub key_heads: usize,
    pub head_dim: usize,
    /// Factor by which scores are multiplied.
    pub scale: f32,
}

impl AttentionShape {
    /// Creates a shape with the usual scale, one over the square root of `head_dim`.
    pub fn new(
        batch: usize,
        seq: usize,
        heads: usize,
        key_heads: usize,
        head_dim: usize,
    ) -> AttentionShape {
        AttentionShape {
            batch,
            seq,
            heads,
            key_heads,
            head_dim,
            scale: (1.0 / (head_dim as f64).sqrt()) as f32,
        }
    }

    /// Returns the attention of one layer of a model.
    pub fn from_sizes(sizes: &StepSizes) -> AttentionShape {
        let StepSizes {
            batch,
            sequence,
            heads,
            key_heads,
            ..
        } = *sizes;
        AttentionShape::new(batch, sequence, heads, key_heads, sizes.head_dim())
    }

    /// Returns sequences, positions per sequence, query heads, key heads and values per head.
    pub fn sides(&self) -> [usize; 5] {
        [
            self.batch,
            self.seq,
            self.heads,
            self.key_heads,
            self.head_dim,
        ]
    }

    /// Returns the rows of a fused projection.
    pub fn tokens(&self) -> usize {
        self.batch * self.seq
    }

    /// Returns the columns of a fused projection: every row holds its query heads, then its key heads, then its value heads.
    pub fn width(&self) -> usize {
        (self.heads + 2 * self.key_heads) * self.head_dim
    }

    /// Returns the number of query heads that share a key head.
    pub fn group(&self) -> usize {
        self.heads / self.key_heads
    }

    /// Returns the elements of queries, outputs and their gradients.
    pub fn query_elements(&self) -> usize {
        self.batch * self.seq * self.heads * self.head_dim
    }

    /// Returns the elements of keys, of values and of their gradients.
    pub fn key_elements(&self) -> usize {
        self.batch * self.seq * self.key_heads * self.head_dim
    }

    /// Returns the number of rows, each with one log-sum-exp and one delta.
    pub fn statistics(&self) -> usize {
        self.batch * self.heads * self.seq
    }

    /// Returns the pairs of a query and a key that it sees, over all query heads.
    pub fn pairs(&self) -> u64 {
        let seq = self.seq as u64;
        self.batch as u64 * self.heads as u64 * (seq * (seq + 1) / 2)
    }
}
