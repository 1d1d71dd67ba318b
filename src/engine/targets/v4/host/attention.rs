//! Causal attention in tiles of queries: the scores of a tile stay in cache, and no S x S matrix is stored.

use rayon::prelude::*;

use super::exponential::exponential;
use super::vectors::{dot, largest, sum, widest};
use crate::matrix::{Parallelism, View, multiply};
use crate::model::ModelConfig;

/// Queries per tile, counted over all heads that share a key head. With some hundred keys, the tile's scores fit a
/// core's second-level cache.
const TILE_ROWS: usize = 64;

/// Least number of queries of one head in a tile.
const LEAST_TILE: usize = 16;

/// Products of a tile run on the tile's own thread.
const ALONE: Parallelism = Parallelism::None;

/// The inputs of a backward pass.
pub struct SavedAttention<'a> {
    pub qkv: &'a [f32],
    pub mixed: &'a [f32],
    pub log_sums: &'a [f32],
    pub mixed_gradient: &'a [f32],
}

/// Layout of heads in the rows of `qkv`, and the angles of their rotation.
struct Heads<'a> {
    sequence: usize,
    heads: usize,
    kv_heads: usize,
    width: usize,
    rotary: &'a [f32],
}

impl<'a> Heads<'a> {
    fn new(config: &ModelConfig, rotary: &'a [f32]) -> Self {
        Heads {
            sequence: config.sequence_length,
            heads: config.heads,
            kv_heads: config.kv_heads,
            width: config.head_dim(),
            rotary,
        }
    }

    /// Returns the number of query heads that share a key head.
    fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// Returns the number of query, key and value heads in a row of `qkv`.
    fn columns(&self) -> usize {
        self.heads + 2 * self.kv_heads
    }

    fn scale(&self) -> f32 {
        1.0 / (self.width as f32).sqrt()
    }

    /// Returns the number of values of one head over a sample.
    fn size(&self) -> usize {
        self.sequence * self.width
    }

    /// Copies one head of a sample, whose rows are `columns` heads wide, as `[S, d]`.
    fn gather(&self, sample: &[f32], columns: usize, head: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.size());
        for row in sample.chunks_exact(columns * self.width) {
            values.extend_from_slice(&row[head * self.width..][..self.width]);
        }
        values
    }

    /// Rotates `[S, d]`; backwards if `direction` is -1.
    fn rotate(&self, mut values: Vec<f32>, direction: f32) -> Vec<f32> {
        let pairs = values.as_chunks_mut::<2>().0;
        let angles = self.rotary.as_chunks::<2>().0;
        for ([even, odd], [cosine, sine]) in pairs.iter_mut().zip(angles) {
            let sine = direction * sine;
            (*even, *odd) = (*even * cosine - *odd * sine, *even * sine + *odd * cosine);
        }
        values
    }

    fn query(&self, sample: &[f32], head: usize) -> Vec<f32> {
        self.rotate(self.gather(sample, self.columns(), head), 1.0)
    }

    fn key(&self, sample: &[f32], head: usize) -> Vec<f32> {
        self.rotate(self.gather(sample, self.columns(), self.heads + head), 1.0)
    }

    fn value(&self, sample: &[f32], head: usize) -> Vec<f32> {
        self.gather(sample, self.columns(), self.heads + self.kv_heads + head)
    }

    /// Computes `factor · a bᵀ` of stacked rows with the keys of the tile. Rows of the result are `keys` apart.
    fn scores(&self, a: &[f32], b: &[f32], tile: &Tile, factor: f32, out: &mut [f32]) {
        let a = View::rows(a, self.width);
        let b = View::rows(b, self.width).transposed();
        let size = [self.group() * tile.rows, tile.keys, self.width];
        multiply(size, factor, a, b, out, false, ALONE);
    }

    /// Returns the number of queries of one head in a tile.
    fn tile(&self) -> usize {
        (TILE_ROWS / self.group()).max(LEAST_TILE)
    }

    /// Allocates memory for the scores of a tile.
    fn scratch(&self) -> Vec<f32> {
        vec![0.0; self.group() * self.tile() * self.sequence]
    }

    fn tiles(&self) -> impl Iterator<Item = Tile> + use<'_> {
        (0..self.sequence).step_by(self.tile()).map(|start| {
            let rows = self.tile().min(self.sequence - start);
            Tile {
                start,
                rows,
                keys: start + rows,
            }
        })
    }

    /// Stacks the tile's rows of each of `members`, `[S, d]`.
    fn stack(&self, members: &[Vec<f32>], tile: &Tile) -> Vec<f32> {
        let rows = tile.start * self.width..tile.keys * self.width;
        let slices = members.iter().map(|member| &member[rows.clone()]);
        slices.collect::<Vec<_>>().concat()
    }

    /// Copies the rows of a tile back to their places in `[members, S, d]`.
    fn unstack(&self, stacked: &[f32], tile: &Tile, out: &mut [f32]) {
        let parts = stacked.chunks_exact(tile.rows * self.width);
        for (member, part) in out.chunks_exact_mut(self.size()).zip(parts) {
            member[tile.start * self.width..][..part.len()].copy_from_slice(part);
        }
    }
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

/// Computes `mixed` `[N, D]` and `log_sums` `[B, H, S]` from `qkv` `[N, D + 2 KV]`.
pub fn forward(
    config: &ModelConfig,
    rotary: &[f32],
    qkv: &[f32],
    mixed: &mut [f32],
    log_sums: &mut [f32],
) {
    let heads = Heads::new(config, rotary);
    let sample = heads.sequence * heads.columns() * heads.width;
    let group = heads.group();
    let mut by_head = vec![0.0; mixed.len()];
    by_head
        .par_chunks_mut(group * heads.size())
        .zip(log_sums.par_chunks_mut(group * heads.sequence))
        .enumerate()
        .for_each(|(index, (out, log_sums))| {
            let (batch, kv_head) = (index / heads.kv_heads, index % heads.kv_heads);
            let qkv = &qkv[batch * sample..][..sample];
            forward_group(&heads, qkv, kv_head, out, log_sums);
        });
    interleave(&by_head, mixed, &heads, heads.heads, |head| head);
}

/// Computes all query heads of a key head: `out` `[G, S, d]`, `log_sums` `[G, S]`.
fn forward_group(
    heads: &Heads,
    qkv: &[f32],
    kv_head: usize,
    out: &mut [f32],
    log_sums: &mut [f32],
) {
    let group = heads.group();
    let queries: Vec<Vec<f32>> = (0..group)
        .map(|member| heads.query(qkv, kv_head * group + member))
        .collect();
    let k = heads.key(qkv, kv_head);
    let v = heads.value(qkv, kv_head);
    let mut scores = heads.scratch();
    for tile in heads.tiles() {
        let q = heads.stack(&queries, &tile);
        heads.scores(&q, &k, &tile, heads.scale(), &mut scores);
        let rows = scores.chunks_exact_mut(tile.keys).take(group * tile.rows);
        for (row, scores) in rows.enumerate() {
            let position = tile.position(row);
            let (seen, hidden) = scores.split_at_mut(position + 1);
            let (largest, sum) = widest(|| {
                let largest = largest(seen);
                for score in seen.iter_mut() {
                    *score = exponential(*score - largest);
                }
                let sum = sum(seen);
                let share = 1.0 / sum;
                for weight in seen {
                    *weight *= share;
                }
                (largest, sum)
            });
            hidden.fill(0.0);
            log_sums[row / tile.rows * heads.sequence + position] = largest + sum.ln();
        }
        let size = [group * tile.rows, heads.width, tile.keys];
        let weights = View::rows(&scores, tile.keys);
        let values = View::rows(&v, heads.width);
        let mut mixed = q;
        multiply(size, 1.0, weights, values, &mut mixed, false, ALONE);
        heads.unstack(&mixed, &tile, out);
    }
}

/// Computes the whole gradient of `qkv`.
pub fn backward(
    config: &ModelConfig,
    rotary: &[f32],
    saved: &SavedAttention,
    qkv_gradient: &mut [f32],
) {
    let heads = Heads::new(config, rotary);
    let group = heads.group();
    // Has for each key head the gradients of its queries, then of key and value.
    let mut by_head = vec![0.0; qkv_gradient.len()];
    by_head
        .par_chunks_mut((group + 2) * heads.size())
        .enumerate()
        .for_each(|(index, out)| {
            let (batch, kv_head) = (index / heads.kv_heads, index % heads.kv_heads);
            backward_group(&heads, saved, batch, kv_head, out);
        });
    let place = |column: usize| {
        // Returns the position of a column's head among the heads of `by_head`, within a sample.
        if column < heads.heads {
            column / group * (group + 2) + column % group
        } else if column < heads.heads + heads.kv_heads {
            (column - heads.heads) * (group + 2) + group
        } else {
            (column - heads.heads - heads.kv_heads) * (group + 2) + group + 1
        }
    };
    interleave(&by_head, qkv_gradient, &heads, heads.columns(), place);
}

fn backward_group(
    heads: &Heads,
    saved: &SavedAttention,
    batch: usize,
    kv_head: usize,
    out: &mut [f32],
) {
    let (size, width, group) = (heads.size(), heads.width, heads.group());
    let sample = size * heads.columns();
    let qkv = &saved.qkv[batch * sample..][..sample];
    let queries = size * heads.heads;
    let mixed = &saved.mixed[batch * queries..][..queries];
    let mixed_gradient = &saved.mixed_gradient[batch * queries..][..queries];
    let k = heads.key(qkv, kv_head);
    let v = heads.value(qkv, kv_head);
    let (query_gradients, rest) = out.split_at_mut(group * size);
    let (k_gradient, v_gradient) = rest.split_at_mut(size);
    let members = || (0..group).map(|member| kv_head * group + member);
    let queries: Vec<_> = members().map(|head| heads.query(qkv, head)).collect();
    let of_heads = |values: &[f32]| -> Vec<Vec<f32>> {
        members()
            .map(|head| heads.gather(values, heads.heads, head))
            .collect()
    };
    let (outputs, d_outputs) = (of_heads(mixed), of_heads(mixed_gradient));
    let log_sums = &saved.log_sums[(batch * heads.heads + kv_head * group) * heads.sequence..];
    let (mut weights, mut gradients) = (heads.scratch(), heads.scratch());
    for tile in heads.tiles() {
        let q = heads.stack(&queries, &tile);
        let output = heads.stack(&outputs, &tile);
        let d_output = heads.stack(&d_outputs, &tile);
        heads.scores(&q, &k, &tile, heads.scale(), &mut weights);
        heads.scores(&d_output, &v, &tile, 1.0, &mut gradients);
        let rows = weights
            .chunks_exact_mut(tile.keys)
            .zip(gradients.chunks_exact_mut(tile.keys))
            .zip(output.chunks_exact(width).zip(d_output.chunks_exact(width)));
        for (row, ((weights, gradients), (output, d_output))) in rows.enumerate() {
            let position = tile.position(row);
            let log_sum = log_sums[row / tile.rows * heads.sequence + position];
            let (seen, scale) = (position + 1, heads.scale());
            widest(|| {
                let delta = dot(output, d_output);
                let pairs = weights[..seen].iter_mut().zip(&mut gradients[..seen]);
                for (weight, gradient) in pairs {
                    *weight = exponential(*weight - log_sum);
                    *gradient = *weight * (*gradient - delta) * scale;
                }
            });
            weights[seen..].fill(0.0);
            gradients[seen..].fill(0.0);
        }
        let rows = group * tile.rows;
        let by_key = [tile.keys, width, rows];
        let weights = View::rows(&weights, tile.keys).transposed();
        let slopes = View::rows(&gradients, tile.keys);
        let d_output = View::rows(&d_output, width);
        multiply(by_key, 1.0, weights, d_output, v_gradient, true, ALONE);
        let (queries, turned) = (View::rows(&q, width), slopes.transposed());
        multiply(by_key, 1.0, turned, queries, k_gradient, true, ALONE);
        let by_query = [rows, width, tile.keys];
        let mut q_gradient = output;
        let keys = View::rows(&k, width);
        multiply(by_query, 1.0, slopes, keys, &mut q_gradient, false, ALONE);
        heads.unstack(&q_gradient, &tile, query_gradients);
    }
    let query_gradients = query_gradients.chunks_exact_mut(size);
    for gradient in query_gradients.chain([k_gradient]) {
        let turned = heads.rotate(gradient.to_vec(), -1.0);
        gradient.copy_from_slice(&turned);
    }
}

/// Copies `[B, H, S, d]` to `[N, H d]`, with the head at `place` in each column.
fn interleave(
    by_head: &[f32],
    rows: &mut [f32],
    heads: &Heads,
    columns: usize,
    place: impl Fn(usize) -> usize + Sync,
) {
    let width = heads.width;
    rows.par_chunks_mut(columns * width)
        .enumerate()
        .for_each(|(token, row)| {
            let (batch, position) = (token / heads.sequence, token % heads.sequence);
            for (column, out) in row.chunks_exact_mut(width).enumerate() {
                let at = ((batch * columns + place(column)) * heads.sequence + position) * width;
                out.copy_from_slice(&by_head[at..][..width]);
            }
        });
}
