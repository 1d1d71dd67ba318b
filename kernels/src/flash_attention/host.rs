//! Both passes on a CPU, in tiles of queries: the scores of a tile stay in cache, and no S x S matrix is stored.
//!
//! A task has one key head of one sequence, with all query heads that share it. It copies their values so that a head's
//! positions follow each other, in whatever layout they come.

use std::ops::Range;

use rayon::prelude::*;
use tinyllama_kernel_catalog::flash_attention::AttentionShape;

use crate::host::matrix::{View, multiply};
use crate::host::{dot, exponential, largest, launch, sum, widest};

/// Queries per tile, counted over all heads that share a key head. With some hundred keys, the tile's scores fit a
/// core's second-level cache.
const TILE_ROWS: usize = 64;

/// Least number of queries of one head in a tile.
const LEAST_TILE: usize = 16;

/// Where a tensor `[batch, seq, heads, head_dim]` has its values.
#[derive(Clone, Copy)]
pub struct HeadValues<'a> {
    values: &'a [f32],
    /// Distances of sequences, positions, heads and features.
    steps: [usize; 4],
}

impl<'a> HeadValues<'a> {
    /// Views rows of `columns` values, one for each token. The first head begins at column `first`.
    pub fn rows(
        values: &'a [f32],
        columns: usize,
        first: usize,
        shape: AttentionShape,
    ) -> HeadValues<'a> {
        HeadValues {
            values: &values[first..],
            steps: [shape.seq * columns, columns, shape.head_dim, 1],
        }
    }

    /// Views queries, keys and values of a fused projection `[tokens, width]`.
    pub fn fused(values: &'a [f32], shape: AttentionShape) -> [HeadValues<'a>; 3] {
        let key = shape.heads * shape.head_dim;
        let value = key + shape.key_heads * shape.head_dim;
        [0, key, value].map(|first| HeadValues::rows(values, shape.width(), first, shape))
    }

    /// Views `[batch, heads, head_dim, seq]`: the features of a position are `seq` values apart.
    pub fn transposed(values: &'a [f32], heads: usize, shape: AttentionShape) -> HeadValues<'a> {
        let head = shape.head_dim * shape.seq;
        HeadValues {
            values,
            steps: [heads * head, 1, head, shape.seq],
        }
    }

    /// Appends some positions of a head, `[positions, head_dim]`.
    fn append(
        &self,
        copy: &mut Vec<f32>,
        [batch, head, head_dim]: [usize; 3],
        positions: Range<usize>,
    ) {
        let [by_batch, by_position, by_head, by_feature] = self.steps;
        let values = &self.values[batch * by_batch + head * by_head..];
        for position in positions {
            let values = &values[position * by_position..];
            match by_feature {
                1 => copy.extend_from_slice(&values[..head_dim]),
                _ => copy.extend(values.iter().step_by(by_feature).take(head_dim)),
            }
        }
    }
}

/// The inputs of a backward pass.
pub struct SavedAttention<'a> {
    /// Queries and keys are rotated.
    pub query_key_value: [HeadValues<'a>; 3],
    /// `[tokens, heads · head_dim]`, as the next two.
    pub output: &'a [f32],
    pub output_gradient: &'a [f32],
    /// `[batch, heads, seq]`.
    pub log_sum_exp: &'a [f32],
}

/// Computes `output` `[tokens, heads · head_dim]` and `log_sum_exp` `[batch, heads, seq]` of queries, keys and values.
pub fn forward(
    shape: AttentionShape,
    inputs: [HeadValues<'_>; 3],
    output: &mut [f32],
    log_sum_exp: &mut [f32],
) {
    launch("flash_attention_forward", || {
        let group = KeyGroup(shape);
        let mut by_head = vec![0.0; output.len()];
        by_head
            .par_chunks_mut(shape.group() * group.head_length())
            .zip(log_sum_exp.par_chunks_mut(shape.group() * shape.seq))
            .enumerate()
            .for_each(|(index, (out, log_sums))| group.forward(inputs, index, out, log_sums));
        group.interleave(&by_head, output, shape.heads, |head, position| {
            let (key_head, member) = (head / shape.group(), head % shape.group());
            key_head * shape.group() * shape.seq + group.row(member, position)
        });
    });
}

/// Computes the gradients of queries, keys and values, side by side: `gradient` is `[tokens, width]`.
pub fn backward(shape: AttentionShape, saved: &SavedAttention<'_>, gradient: &mut [f32]) {
    launch("flash_attention_backward", || {
        let keys = KeyGroup(shape);
        let group = shape.group();
        // Has for each key head the gradients of its queries, then of key and value.
        let mut by_head = vec![0.0; gradient.len()];
        by_head
            .par_chunks_mut((group + 2) * keys.head_length())
            .enumerate()
            .for_each(|(index, out)| keys.backward(saved, index, out));
        let columns = shape.heads + 2 * shape.key_heads;
        keys.interleave(&by_head, gradient, columns, |column, position| {
            let key = column.saturating_sub(shape.heads);
            let (key_head, row) = if column < shape.heads {
                (column / group, keys.row(column % group, position))
            } else if key < shape.key_heads {
                (key, group * shape.seq + position)
            } else {
                (key - shape.key_heads, (group + 1) * shape.seq + position)
            };
            key_head * (group + 2) * shape.seq + row
        });
    });
}

/// The work on one key head and the query heads that share it.
#[derive(Clone, Copy)]
struct KeyGroup(AttentionShape);

impl KeyGroup {
    /// Returns the values of one head over a sequence.
    fn head_length(&self) -> usize {
        self.0.seq * self.0.head_dim
    }

    /// Computes `factor · a bᵀ` of stacked rows with the keys of the tile. Rows of the result are `keys` apart.
    fn scores(&self, a: &[f32], b: &[f32], tile: &Tile, factor: f32, out: &mut [f32]) {
        let width = self.0.head_dim;
        let (a, b) = (View::rows(a, width), View::rows(b, width).transposed());
        let size = [self.0.group() * tile.rows, tile.keys, width];
        multiply(size, factor, a, b, out, false);
    }

    /// Returns the number of queries of one head in a tile.
    fn tile(&self) -> usize {
        (TILE_ROWS / self.0.group()).max(LEAST_TILE)
    }

    /// Allocates memory for the scores of a tile.
    fn scratch(&self) -> Vec<f32> {
        vec![0.0; self.0.group() * self.tile() * self.0.seq]
    }

    fn tiles(&self) -> impl Iterator<Item = Tile> + use<> {
        let (seq, tile) = (self.0.seq, self.tile());
        (0..seq).step_by(tile).map(move |start| {
            let rows = tile.min(seq - start);
            Tile {
                start,
                rows,
                keys: start + rows,
            }
        })
    }

    /// Returns the place of a query among those of the group: tile by tile, and within a tile head by head.
    fn row(&self, member: usize, position: usize) -> usize {
        let start = position / self.tile() * self.tile();
        let rows = self.tile().min(self.0.seq - start);
        self.0.group() * start + member * rows + position - start
    }

    /// Copies the query heads of a group in the order of [`row`](Self::row).
    fn queries(&self, values: HeadValues<'_>, batch: usize, key_head: usize) -> Vec<f32> {
        let group = self.0.group();
        let mut copy = Vec::with_capacity(group * self.head_length());
        for tile in self.tiles() {
            for member in 0..group {
                let head = [batch, key_head * group + member, self.0.head_dim];
                values.append(&mut copy, head, tile.start..tile.keys);
            }
        }
        copy
    }

    /// Copies a key head, `[seq, head_dim]`.
    fn keys(&self, values: HeadValues<'_>, batch: usize, key_head: usize) -> Vec<f32> {
        let mut copy = Vec::with_capacity(self.head_length());
        let head = [batch, key_head, self.0.head_dim];
        values.append(&mut copy, head, 0..self.0.seq);
        copy
    }

    /// Returns where the rows of a tile lie among those of the group.
    fn range(&self, tile: &Tile) -> Range<usize> {
        let row = self.0.group() * self.0.head_dim;
        tile.start * row..tile.keys * row
    }

    /// Computes all query heads of a key head: `out` in the order of [`row`](Self::row), `log_sums` `[group, seq]`.
    fn forward(
        &self,
        [query, key, value]: [HeadValues<'_>; 3],
        index: usize,
        out: &mut [f32],
        log_sums: &mut [f32],
    ) {
        let shape = self.0;
        let (batch, key_head) = (index / shape.key_heads, index % shape.key_heads);
        let group = shape.group();
        let queries = self.queries(query, batch, key_head);
        let [k, v] = [key, value].map(|values| self.keys(values, batch, key_head));
        let mut scores = self.scratch();
        for tile in self.tiles() {
            let q = &queries[self.range(&tile)];
            self.scores(q, &k, &tile, shape.scale, &mut scores);
            let rows = scores.chunks_exact_mut(tile.keys).take(group * tile.rows);
            for (row, scores) in rows.enumerate() {
                let position = tile.position(row);
                let (seen, hidden) = scores.split_at_mut(position + 1);
                hidden.fill(0.0);
                log_sums[row / tile.rows * shape.seq + position] = softmax(seen);
            }
            let size = [group * tile.rows, shape.head_dim, tile.keys];
            let weights = View::rows(&scores, tile.keys);
            let values = View::rows(&v, shape.head_dim);
            let out = &mut out[self.range(&tile)];
            multiply(size, 1.0, weights, values, out, false);
        }
    }

    /// Computes, with P = exp(S - L): dV = Pᵀ dO, dS = P (dO Vᵀ - rowsum(dO O)) scale, dQ = dS K, dK = dSᵀ Q.
    fn backward(&self, saved: &SavedAttention<'_>, index: usize, out: &mut [f32]) {
        let shape = self.0;
        let (batch, key_head) = (index / shape.key_heads, index % shape.key_heads);
        let (length, width, group) = (self.head_length(), shape.head_dim, shape.group());
        let rows = |values| HeadValues::rows(values, shape.heads * width, 0, shape);
        let [query, key, value] = saved.query_key_value;
        let grouped = [query, rows(saved.output), rows(saved.output_gradient)];
        let [queries, outputs, d_outputs] =
            grouped.map(|values| self.queries(values, batch, key_head));
        let [k, v] = [key, value].map(|values| self.keys(values, batch, key_head));
        let (query_gradients, rest) = out.split_at_mut(group * length);
        let (k_gradient, v_gradient) = rest.split_at_mut(length);
        let log_sums = &saved.log_sum_exp[(batch * shape.heads + key_head * group) * shape.seq..];
        let (mut weights, mut gradients) = (self.scratch(), self.scratch());
        for tile in self.tiles() {
            let [q, output, d_output] =
                [&queries, &outputs, &d_outputs].map(|values| &values[self.range(&tile)]);
            self.scores(q, &k, &tile, shape.scale, &mut weights);
            self.scores(d_output, &v, &tile, 1.0, &mut gradients);
            let rows = weights
                .chunks_exact_mut(tile.keys)
                .zip(gradients.chunks_exact_mut(tile.keys))
                .zip(output.chunks_exact(width).zip(d_output.chunks_exact(width)));
            for (row, ((weights, gradients), (output, d_output))) in rows.enumerate() {
                let position = tile.position(row);
                let log_sum = log_sums[row / tile.rows * shape.seq + position];
                let seen = position + 1;
                widest(|| {
                    let delta = dot(output, d_output);
                    let pairs = weights[..seen].iter_mut().zip(&mut gradients[..seen]);
                    for (weight, gradient) in pairs {
                        *weight = exponential(*weight - log_sum);
                        *gradient = *weight * (*gradient - delta) * shape.scale;
                    }
                });
                weights[seen..].fill(0.0);
                gradients[seen..].fill(0.0);
            }
            let rows = group * tile.rows;
            let by_key = [tile.keys, width, rows];
            let weights = View::rows(&weights, tile.keys).transposed();
            let slopes = View::rows(&gradients, tile.keys);
            let d_output = View::rows(d_output, width);
            multiply(by_key, 1.0, weights, d_output, v_gradient, true);
            let (queries, turned) = (View::rows(q, width), slopes.transposed());
            multiply(by_key, 1.0, turned, queries, k_gradient, true);
            let by_query = [rows, width, tile.keys];
            let keys = View::rows(&k, width);
            let q_gradient = &mut query_gradients[self.range(&tile)];
            multiply(by_query, 1.0, slopes, keys, q_gradient, false);
        }
    }

    /// Copies rows of heads to `[tokens, columns · head_dim]`. `place` returns the row of a column and a position.
    fn interleave(
        &self,
        by_head: &[f32],
        rows: &mut [f32],
        columns: usize,
        place: impl Fn(usize, usize) -> usize + Sync,
    ) {
        let (width, seq) = (self.0.head_dim, self.0.seq);
        rows.par_chunks_mut(columns * width)
            .enumerate()
            .for_each(|(token, row)| {
                let (batch, position) = (token / seq, token % seq);
                for (column, out) in row.chunks_exact_mut(width).enumerate() {
                    let at = (batch * columns * seq + place(column, position)) * width;
                    out.copy_from_slice(&by_head[at..][..width]);
                }
            });
    }
}

/// Replaces scores by their weights and returns the log of the sum of their exponentials.
fn softmax(scores: &mut [f32]) -> f32 {
    widest(|| {
        let largest = largest(scores);
        for score in scores.iter_mut() {
            *score = exponential(*score - largest);
        }
        let sum = sum(scores);
        let share = 1.0 / sum;
        for weight in scores {
            *weight *= share;
        }
        largest + sum.ln()
    })
}

/// Queries `start..start + rows` of each head of a group, and the first `keys` keys, which the last query sees.
struct Tile {
    start: usize,
    rows: usize,
    keys: usize,
}

impl Tile {
    /// Returns the position of a row in a stack of all heads of a group.
    fn position(&self, row: usize) -> usize {
        self.start + row % self.rows
    }
}
