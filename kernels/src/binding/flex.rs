//! The same formulas on burn's own tensors, for the CPU backend.

use burn::backend::Flex;
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::activation::{log_softmax, sigmoid};
use burn::tensor::{Int, Tensor, TensorData};

use super::{AttentionSizes, KeyValueLayout, LibraryChoice, LlamaOps};

type Float = FloatTensor<Flex>;

fn tensor<const D: usize>(primitive: Float) -> Tensor<D> {
    Tensor::from_primitive::<Flex>(primitive)
}

fn primitive<const D: usize>(tensor: Tensor<D>) -> Float {
    tensor.try_into_primitive::<Flex>().unwrap_or_else(|error| {
        unreachable!("a tensor of the CPU backend changed its kind: {error:?}")
    })
}

impl LlamaOps for Flex {
    fn llama_rms_norm(x: Float, weight: Float, epsilon: f32) -> Float {
        let (x, weight) = (tensor::<2>(x), tensor::<1>(weight));
        primitive(x.clone() * inverse_root(x, epsilon) * weight.unsqueeze())
    }

    /// With r = 1/√(mean(x²)+ε): dx = r (w dy - x r² mean(w dy x)), dw = Σ_rows dy x r.
    fn llama_rms_norm_gradient(
        x: Float,
        weight: Float,
        gradient: Float,
        epsilon: f32,
    ) -> (Float, Float) {
        let (x, weight, gradient) = (tensor::<2>(x), tensor::<1>(weight), tensor::<2>(gradient));
        let width = x.dims()[1];
        let root = inverse_root(x.clone(), epsilon);
        let weighted = gradient.clone() * weight.unsqueeze();
        let projection = (weighted.clone() * x.clone()).mean_dim(1);
        let x_gradient =
            root.clone() * (weighted - x.clone() * root.clone().powi_scalar(2) * projection);
        let weight_gradient = (gradient * x * root).sum_dim(0).reshape([width]);
        (primitive(x_gradient), primitive(weight_gradient))
    }

    fn llama_rms_norm_gradient_onto(
        x: Float,
        weight: Float,
        gradient: Float,
        passed: Float,
        epsilon: f32,
    ) -> (Float, Float) {
        let (x, weight) = Self::llama_rms_norm_gradient(x, weight, gradient, epsilon);
        (Flex::float_add(x, passed), weight)
    }

    /// Heads are repeated and laid out by rows whatever the layout: there is no kernel that could read them in place.
    fn llama_attention(
        qkv: Float,
        table: Float,
        sizes: AttentionSizes,
        _layout: KeyValueLayout,
    ) -> (Float, Float, Float) {
        let turned = turn(tensor(qkv), tensor(table), sizes, false);
        let [q, k, v] = split(turned.clone(), sizes);
        let (output, log_sum_exp) = attend(q, k, v);
        (
            primitive(rows(output, sizes)),
            primitive(turned),
            primitive(log_sum_exp),
        )
    }

    /// See [`attend_gradient`]; query heads that share a key head add up; queries and keys turn back.
    fn llama_attention_gradient(
        turned: Float,
        table: Float,
        output: Float,
        log_sum_exp: Float,
        gradient: Float,
        sizes: AttentionSizes,
        _layout: KeyValueLayout,
    ) -> Float {
        let [q, k, v] = split(tensor(turned), sizes);
        let (output, gradient) = (heads(tensor(output), sizes), heads(tensor(gradient), sizes));
        let [query_gradient, key_gradient, value_gradient] =
            attend_gradient([q, k, v], output, tensor(log_sum_exp), gradient);
        let joined = Tensor::cat(
            vec![
                rows(query_gradient, sizes),
                group_rows(key_gradient, sizes),
                group_rows(value_gradient, sizes),
            ],
            1,
        );
        primitive(turn(joined, tensor(table), sizes, true))
    }

    fn llama_library_attention(
        query: Float,
        key: Float,
        value: Float,
        _choice: LibraryChoice,
    ) -> (Float, Float, Float, Float, Float) {
        let inputs = [query.clone(), key.clone(), value.clone()];
        let [q, k, v] = inputs.map(tensor::<4>);
        let (output, log_sum_exp) = attend(q, k, v);
        (primitive(output), primitive(log_sum_exp), query, key, value)
    }

    fn llama_library_attention_gradient(
        query: Float,
        key: Float,
        value: Float,
        output: Float,
        log_sum_exp: Float,
        gradient: Float,
    ) -> (Float, Float, Float) {
        let inputs = [query, key, value].map(tensor::<4>);
        let [query, key, value] = attend_gradient(
            inputs,
            tensor(output),
            tensor(log_sum_exp),
            tensor(gradient),
        );
        (primitive(query), primitive(key), primitive(value))
    }

    fn llama_plain_product(lhs: Float, rhs: Float) -> Float {
        Flex::float_matmul(lhs, rhs)
    }

    fn llama_swiglu(gate_up: Float) -> Float {
        let [gate, up] = halves(tensor(gate_up));
        primitive(gate.clone() * sigmoid(gate) * up)
    }

    fn llama_swiglu_gradient(gate_up: Float, gradient: Float) -> Float {
        let [gate, up] = halves(tensor(gate_up));
        let gradients = activation_gradients(gate, up, tensor(gradient));
        primitive(Tensor::cat(gradients.into(), 1))
    }

    /// On the host the products are the library's: what the kernel does wrong has no counterpart here.
    fn llama_swiglu_naive(
        x: Float,
        gate_weight: Float,
        up_weight: Float,
        _products: LibraryChoice,
    ) -> (Float, Float, Float) {
        let x = tensor::<2>(x);
        let gate = x.clone().matmul(tensor(gate_weight));
        let up = x.matmul(tensor(up_weight));
        let output = gate.clone() * sigmoid(gate.clone()) * up.clone();
        (primitive(output), primitive(gate), primitive(up))
    }

    fn llama_swiglu_naive_gradient(gate: Float, up: Float, gradient: Float) -> (Float, Float) {
        let [gate, up] = activation_gradients(tensor(gate), tensor(up), tensor(gradient));
        (primitive(gate), primitive(up))
    }

    fn llama_cross_entropy(logits: Float, targets: IntTensor<Flex>) -> (Float, Float) {
        let logits = tensor::<2>(logits);
        let targets = Tensor::<1, Int>::from_primitive::<Flex>(targets);
        let [rows, _] = logits.dims();
        let log_probabilities = log_softmax(logits, 1);
        let index = targets.reshape([rows, 1]);
        let loss = log_probabilities
            .clone()
            .gather(1, index.clone())
            .mean()
            .neg();
        let hit = Tensor::<2>::from_data(
            TensorData::new(vec![-1f32; rows], [rows, 1]),
            &log_probabilities.device(),
        );
        let gradient =
            log_probabilities
                .exp()
                .scatter(1, index, hit, burn::tensor::IndexingUpdateOp::Add);
        (primitive(loss), primitive(gradient / rows as f32))
    }
}

/// Of gate and up. With σ = sigmoid(gate): dgate = dy up σ (1 + gate (1 - σ)), dup = dy gate σ.
fn activation_gradients(gate: Tensor<2>, up: Tensor<2>, gradient: Tensor<2>) -> [Tensor<2>; 2] {
    let sigma = sigmoid(gate.clone());
    let slope = (gate.clone() * (sigma.clone() * -1.0 + 1.0) + 1.0) * sigma.clone();
    [gradient.clone() * up * slope, gradient * gate * sigma]
}

/// 1 / √(mean(x²) + ε), `[rows, 1]`.
fn inverse_root(x: Tensor<2>, epsilon: f32) -> Tensor<2> {
    (x.clone() * x)
        .mean_dim(1)
        .add_scalar(epsilon)
        .sqrt()
        .recip()
}

fn halves(gate_up: Tensor<2>) -> [Tensor<2>; 2] {
    let hidden = gate_up.dims()[1] / 2;
    [
        gate_up.clone().narrow(1, 0, hidden),
        gate_up.narrow(1, hidden, hidden),
    ]
}

/// Causal attention over `[batch, heads, sequence, head_dim]`, and the log of each row's sum of exponentials
/// `[batch, heads, sequence]`.
fn attend(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> (Tensor<4>, Tensor<3>) {
    let [batch, heads, sequence, _] = q.dims();
    let scores = scores(q, k);
    let largest = scores.clone().max_dim(3);
    let exponentials = (scores - largest.clone()).exp();
    let sums = exponentials.clone().sum_dim(3);
    let output = (exponentials / sums.clone()).matmul(v);
    let log_sum_exp = (sums.log() + largest).reshape([batch, heads, sequence]);
    (output, log_sum_exp)
}

/// With P = exp(S - L): dV = Pᵀ dO, dS = P (dO Vᵀ - rowsum(dO O)) / √d, dQ = dS K, dK = dSᵀ Q.
fn attend_gradient(
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

/// One over the square root of the head's width.
fn scale(heads: &Tensor<4>) -> f32 {
    1.0 / (heads.dims()[3] as f32).sqrt()
}

/// Turns the query and key heads of every row by its position, or back.
fn turn(qkv: Tensor<2>, table: Tensor<3>, sizes: AttentionSizes, back: bool) -> Tensor<2> {
    let AttentionSizes {
        batch,
        sequence,
        heads,
        key_heads,
        head_dim,
    } = sizes;
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
    Tensor::cat(vec![pairs, values], 2).reshape([batch * sequence, sizes.width()])
}

/// Queries, keys and values as `[batch, heads, sequence, head_dim]`, keys and values repeated for their query heads.
fn split(qkv: Tensor<2>, sizes: AttentionSizes) -> [Tensor<4>; 3] {
    let AttentionSizes {
        batch,
        sequence,
        heads,
        key_heads,
        head_dim,
    } = sizes;
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

/// Causal scores `[batch, heads, sequence, sequence]`.
fn scores(q: Tensor<4>, k: Tensor<4>) -> Tensor<4> {
    let s = q.dims()[2];
    let scale = scale(&q);
    let mask: Vec<f32> = (0..s * s)
        .map(|i| {
            if i % s > i / s {
                f32::NEG_INFINITY
            } else {
                0.0
            }
        })
        .collect();
    let mask = Tensor::<4>::from_data(TensorData::new(mask, [1, 1, s, s]), &q.device());
    q.matmul(k.swap_dims(2, 3)) * scale + mask
}

/// `[tokens, heads · head_dim]` as `[batch, heads, sequence, head_dim]`.
fn heads(rows: Tensor<2>, sizes: AttentionSizes) -> Tensor<4> {
    rows.reshape([sizes.batch, sizes.sequence, sizes.heads, sizes.head_dim])
        .swap_dims(1, 2)
}

/// The inverse of [`heads`].
fn rows(heads: Tensor<4>, sizes: AttentionSizes) -> Tensor<2> {
    heads
        .swap_dims(1, 2)
        .reshape([sizes.tokens(), sizes.heads * sizes.head_dim])
}

/// Like [`rows`], with the query heads that share a key head added up.
fn group_rows(per_query_head: Tensor<4>, sizes: AttentionSizes) -> Tensor<2> {
    let AttentionSizes {
        batch,
        sequence,
        heads,
        key_heads,
        head_dim,
    } = sizes;
    per_query_head
        .reshape([batch, key_heads, heads / key_heads, sequence, head_dim])
        .sum_dim(2)
        .reshape([batch, key_heads, sequence, head_dim])
        .swap_dims(1, 2)
        .reshape([sizes.tokens(), key_heads * head_dim])
}
