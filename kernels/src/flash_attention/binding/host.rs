//! The same formulas on burn's own tensors, for the CPU backend.

use burn::backend::Flex;
use burn::tensor::{Tensor, TensorData};

use tinyllama_kernel_catalog::flash_attention::AttentionShape;

use super::{KeyValueLayout, RotaryAttention, RotaryAttentionGradient};
use crate::binding::{Float, primitive, tensor};

impl RotaryAttention for Flex {
    /// Heads are repeated and stored by rows in either layout, because no kernel could read them in place.
    fn rotary_attention(
        qkv: Float<Self>,
        table: Float<Self>,
        shape: AttentionShape,
        _layout: KeyValueLayout,
    ) -> (Float<Self>, Float<Self>, Float<Self>) {
        let turned = rotate(tensor(qkv), tensor(table), shape, false);
        let (output, log_sum_exp) = attend(split(turned.clone(), shape));
        (
            primitive(rows(output, shape)),
            primitive(turned),
            primitive(log_sum_exp),
        )
    }
}

impl RotaryAttentionGradient for Flex {
    /// See [`attend_gradient`]. Gradients of query heads that share a key head are added; queries and keys are rotated back.
    fn rotary_attention_gradient(
        turned: Float<Self>,
        table: Float<Self>,
        output: Float<Self>,
        log_sum_exp: Float<Self>,
        gradient: Float<Self>,
        shape: AttentionShape,
        _layout: KeyValueLayout,
    ) -> Float<Self> {
        let inputs = split(tensor(turned), shape);
        let (output, gradient) = (heads(tensor(output), shape), heads(tensor(gradient), shape));
        let [query, key, value] = attend_gradient(inputs, output, tensor(log_sum_exp), gradient);
        let parts = vec![
            rows(query, shape),
            rows(group(key, shape), shape),
            rows(group(value, shape), shape),
        ];
        primitive(rotate(Tensor::cat(parts, 1), tensor(table), shape, true))
    }
}

/// Computes causal attention over `[batch, heads, sequence, head_dim]`, and the log of each row's sum of exponentials
/// `[batch, heads, sequence]`.
pub(super) fn attend([q, k, v]: [Tensor<4>; 3]) -> (Tensor<4>, Tensor<3>) {
    let [batch, heads, sequence, _] = q.dims();
    let scores = scores(q, k);
    let largest = scores.clone().max_dim(3);
    let exponentials = (scores - largest.clone()).exp();
    let sums = exponentials.clone().sum_dim(3);
    let output = (exponentials / sums.clone()).matmul(v);
    let log_sum_exp = (sums.log() + largest).reshape([batch, heads, sequence]);
    (output, log_sum_exp)
}

/// Computes, with P = exp(S - L): dV = Pᵀ dO, dS = P (dO Vᵀ - rowsum(dO O)) / √d, dQ = dS K, dK = dSᵀ Q.
pub(super) fn attend_gradient(
    [q, k, v]: [Tensor<4>; 3],
    output: Tensor<4>,
    log_sum_exp: Tensor<3>,
    gradient: Tensor<4>,
) -> [Tensor<4>; 3] {
    let scale = scale(&q);
    let weights = (scores(q.clone(), k.clone()) - log_sum_exp.unsqueeze_dim::<4>(3)).exp();
    let value_gradient = weights.clone().swap_dims(2, 3).matmul(gradient.clone());
    let delta = (gradient.clone() * output).sum_dim(3);
    let score_gradient = weights * (gradient.matmul(v.swap_dims(2, 3)) - delta) * scale;
    let query_gradient = score_gradient.clone().matmul(k);
    let key_gradient = score_gradient.swap_dims(2, 3).matmul(q);
    [query_gradient, key_gradient, value_gradient]
}

/// Returns one over the square root of the head's width.
fn scale(heads: &Tensor<4>) -> f32 {
    1.0 / (heads.dims()[3] as f32).sqrt()
}

/// Rotates the query and key heads of every row by its position, or back.
fn rotate(qkv: Tensor<2>, table: Tensor<3>, shape: AttentionShape, back: bool) -> Tensor<2> {
    let [batch, sequence, heads, key_heads, head_dim] = shape.sides();
    let all = heads + 2 * key_heads;
    let turned = heads + key_heads;
    let grid = qkv.reshape([batch, sequence, all, head_dim / 2, 2]);
    let values = grid.clone().narrow(2, turned, key_heads);
    let pairs = grid.narrow(2, 0, turned);
    let (even, odd) = (pairs.clone().narrow(4, 0, 1), pairs.narrow(4, 1, 1));
    let table = table.reshape([1, sequence, 1, head_dim / 2, 2]);
    let cosine = table.clone().narrow(4, 0, 1);
    let sine = table.narrow(4, 1, 1) * if back { -1.0 } else { 1.0 };
    let turned_even = even.clone() * cosine.clone() - odd.clone() * sine.clone();
    let turned_odd = even * sine + odd * cosine;
    let pairs = Tensor::cat(vec![turned_even, turned_odd], 4);
    Tensor::cat(vec![pairs, values], 2).reshape([batch * sequence, shape.width()])
}

/// Returns queries, keys and values as `[batch, heads, sequence, head_dim]`; keys and values are repeated for their
/// query heads.
fn split(qkv: Tensor<2>, shape: AttentionShape) -> [Tensor<4>; 3] {
    let [batch, sequence, heads, key_heads, head_dim] = shape.sides();
    let grid = qkv
        .reshape([batch, sequence, heads + 2 * key_heads, head_dim])
        .swap_dims(1, 2);
    let repeat = |first: usize| {
        grid.clone()
            .narrow(1, first, key_heads)
            .unsqueeze_dim::<5>(2)
            .expand([batch, key_heads, heads / key_heads, sequence, head_dim])
            .reshape([batch, heads, sequence, head_dim])
    };
    let (keys, values) = (repeat(heads), repeat(heads + key_heads));
    [grid.narrow(1, 0, heads), keys, values]
}

/// Computes causal scores `[batch, heads, sequence, sequence]`.
fn scores(q: Tensor<4>, k: Tensor<4>) -> Tensor<4> {
    let s = q.dims()[2];
    let scale = scale(&q);
    let hidden = f32::NEG_INFINITY;
    let values = (0..s * s).map(|i| if i % s > i / s { hidden } else { 0.0 });
    let mask: Vec<f32> = values.collect();
    let mask = Tensor::<4>::from_data(TensorData::new(mask, [1, 1, s, s]), &q.device());
    q.matmul(k.swap_dims(2, 3)) * scale + mask
}

/// Reshapes `[tokens, heads · head_dim]` to `[batch, heads, sequence, head_dim]`.
fn heads(rows: Tensor<2>, shape: AttentionShape) -> Tensor<4> {
    rows.reshape([shape.batch, shape.seq, shape.heads, shape.head_dim])
        .swap_dims(1, 2)
}

/// The inverse of [`heads`], for any number of heads.
fn rows(heads: Tensor<4>, shape: AttentionShape) -> Tensor<2> {
    let width = heads.dims()[1] * shape.head_dim;
    heads.swap_dims(1, 2).reshape([shape.tokens(), width])
}

/// Adds the query heads that share a key head.
fn group(per_query_head: Tensor<4>, shape: AttentionShape) -> Tensor<4> {
    let AttentionShape {
        batch,
        seq,
        key_heads,
        head_dim,
        ..
    } = shape;
    per_query_head
        .reshape([batch, key_heads, shape.group(), seq, head_dim])
        .sum_dim(2)
        .reshape([batch, key_heads, seq, head_dim])
}
