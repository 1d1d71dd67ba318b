//! The model in f64 in its plainest form. Tests compare the executors with it.

use tinyllama_kernel_catalog::flash_attention::{AttentionShape, reference as attention};
use tinyllama_kernel_catalog::{cross_entropy, rmsnorm, rope, swiglu};

use crate::model::{ModelConfig, NORM_EPSILON, ROTARY_BASE};
use crate::targets::v4::layout::ParameterLayout;

/// Loss, logits and the gradients of all parameters in the layout's order.
pub struct OracleResult {
    pub loss: f64,
    pub logits: Vec<f64>,
    pub gradients: Vec<f64>,
}

/// Results of a block's forward pass that its backward pass needs.
struct BlockResults {
    streams: [Vec<f64>; 2],
    normed: [Vec<f64>; 2],
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    mixed: Vec<f64>,
    gate: Vec<f64>,
    up: Vec<f64>,
    activated: Vec<f64>,
}

/// Computes forward and backward pass of one batch.
pub fn solve(
    config: &ModelConfig,
    values: &[f32],
    tokens: &[i32],
    targets: &[i32],
) -> OracleResult {
    let layout = ParameterLayout::new(config);
    let weight = |index: usize| -> Vec<f64> {
        let range = layout.parameters[index].range();
        values[range]
            .iter()
            .map(|value| f64::from(*value))
            .collect()
    };
    let mut gradients = vec![0.0; layout.length];
    let (n, d, f) = (config.tokens(), config.hidden, config.ffn);
    let kv = config.kv_heads * config.head_dim();
    let widths = [d, kv, kv];
    let shape = AttentionShape {
        scale: 1.0,
        ..AttentionShape::new(
            config.batch_size,
            config.sequence_length,
            config.heads,
            config.kv_heads,
            config.head_dim(),
        )
    };
    // The kernels' reference takes its scale in f32, so the scale is applied to the queries instead.
    let scale = 1.0 / (config.head_dim() as f64).sqrt();
    let scaled = |x: &[f64]| -> Vec<f64> { x.iter().map(|x| x * scale).collect() };
    let turn = |x: &[f64], heads: usize, inverse: bool| {
        let shape = rope::RopeShape {
            batch: config.batch_size,
            seq: config.sequence_length,
            heads,
            turned: heads,
            head_dim: config.head_dim(),
            layout: rope::RopeLayout::TokenMajor,
        };
        rope::reference(x, shape, ROTARY_BASE, inverse)
    };

    let table = weight(layout.embedding());
    let mut stream: Vec<f64> = tokens
        .iter()
        .flat_map(|token| table[*token as usize * d..][..d].to_vec())
        .collect();
    let mut blocks = Vec::new();
    for layer in 0..config.layers {
        let before = stream.clone();
        let normed =
            rmsnorm::reference_forward(&stream, &weight(layout.norm(2 * layer)), NORM_EPSILON);
        let qkv = multiply(&normed, &weight(layout.qkv(layer)), [n, d, d + 2 * kv]);
        let [q, k, v] = columns(&qkv, widths);
        let q = scaled(&turn(&q, config.heads, false));
        let k = turn(&k, config.kv_heads, false);
        let mixed = attention::forward(shape, &q, &k, &v).output;
        let out = multiply(&mixed, &weight(layout.output(layer)), [n, d, d]);
        add(&mut stream, &out);
        let between = stream.clone();
        let normed2 =
            rmsnorm::reference_forward(&stream, &weight(layout.norm(2 * layer + 1)), NORM_EPSILON);
        let gate_up = multiply(&normed2, &weight(layout.gate_up(layer)), [n, d, 2 * f]);
        let [gate, up] = columns(&gate_up, [f, f]);
        let activated = swiglu::reference_forward(&gate, &up);
        let out = multiply(&activated, &weight(layout.down(layer)), [n, f, d]);
        add(&mut stream, &out);
        blocks.push(BlockResults {
            streams: [before, between],
            normed: [normed, normed2],
            q,
            k,
            v,
            mixed,
            gate,
            up,
            activated,
        });
    }
    let final_norm = weight(layout.norm(2 * config.layers));
    let normed = rmsnorm::reference_forward(&stream, &final_norm, NORM_EPSILON);
    let vocabulary = config.vocabulary;
    let logits = multiply(&normed, &transpose(&table, d), [n, d, vocabulary]);
    let classes: Vec<usize> = targets.iter().map(|target| *target as usize).collect();
    let (losses, _) = cross_entropy::reference_forward(&logits, &classes, vocabulary);

    let share = 1.0 / n as f64;
    let d_logits = cross_entropy::reference_backward(&logits, &classes, vocabulary, share);
    let mut put = |index: usize, gradient: &[f64]| {
        add(&mut gradients[layout.parameters[index].range()], gradient);
    };
    put(
        layout.embedding(),
        &multiply(
            &transpose(&d_logits, vocabulary),
            &normed,
            [vocabulary, n, d],
        ),
    );
    let d_normed = multiply(&d_logits, &table, [n, vocabulary, d]);
    let (mut d_stream, d_weight) =
        rmsnorm::reference_backward(&stream, &final_norm, &d_normed, NORM_EPSILON);
    put(layout.norm(2 * config.layers), &d_weight);
    for (layer, block) in blocks.iter().enumerate().rev() {
        let mut product = |input: &[f64], gradient: &[f64], index: usize, [k, m]: [usize; 2]| {
            put(index, &multiply(&transpose(input, k), gradient, [k, n, m]));
            multiply(gradient, &transpose(&weight(index), m), [n, m, k])
        };
        let d_activated = product(&block.activated, &d_stream, layout.down(layer), [f, d]);
        let (d_gate, d_up) = swiglu::reference_backward(&block.gate, &block.up, &d_activated);
        let d_gate_up = concat_columns(&[(&d_gate, f), (&d_up, f)]);
        let d_normed = product(
            &block.normed[1],
            &d_gate_up,
            layout.gate_up(layer),
            [d, 2 * f],
        );
        let norm = layout.norm(2 * layer + 1);
        let (dx, dw) =
            rmsnorm::reference_backward(&block.streams[1], &weight(norm), &d_normed, NORM_EPSILON);
        add(&mut d_stream, &dx);
        let d_mixed = product(&block.mixed, &d_stream, layout.output(layer), [d, d]);
        let d_heads = attention::backward(shape, &block.q, &block.k, &block.v, &d_mixed);
        let d_q = turn(&scaled(&d_heads.query), config.heads, true);
        let d_k = turn(&d_heads.key, config.kv_heads, true);
        let d_qkv = concat_columns(&[(&d_q, d), (&d_k, kv), (&d_heads.value, kv)]);
        let d_normed = product(&block.normed[0], &d_qkv, layout.qkv(layer), [d, d + 2 * kv]);
        put(norm, &dw);
        let norm = layout.norm(2 * layer);
        let (dx, dw) =
            rmsnorm::reference_backward(&block.streams[0], &weight(norm), &d_normed, NORM_EPSILON);
        add(&mut d_stream, &dx);
        put(norm, &dw);
    }
    let table_gradient = &mut gradients[layout.parameters[layout.embedding()].range()];
    for (token, row) in tokens.iter().zip(d_stream.chunks_exact(d)) {
        add(&mut table_gradient[*token as usize * d..][..d], row);
    }
    OracleResult {
        loss: losses.iter().sum::<f64>() / n as f64,
        logits,
        gradients,
    }
}

/// Multiplies `[m, k] x [k, n]`.
fn multiply(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for row in 0..m {
        for inner in 0..k {
            for column in 0..n {
                out[row * n + column] += a[row * k + inner] * b[inner * n + column];
            }
        }
    }
    out
}

fn transpose(x: &[f64], columns: usize) -> Vec<f64> {
    let rows = x.len() / columns;
    (0..columns)
        .flat_map(|column| (0..rows).map(move |row| x[row * columns + column]))
        .collect()
}

fn add(sum: &mut [f64], x: &[f64]) {
    assert_eq!(sum.len(), x.len());
    for (sum, x) in sum.iter_mut().zip(x) {
        *sum += x;
    }
}

fn columns<const N: usize>(x: &[f64], widths: [usize; N]) -> [Vec<f64>; N] {
    let mut start = 0;
    let all: usize = widths.iter().sum();
    widths.map(|width| {
        start += width;
        x.chunks_exact(all)
            .flat_map(|row| row[start - width..start].to_vec())
            .collect()
    })
}

fn concat_columns(parts: &[(&[f64], usize)]) -> Vec<f64> {
    let rows = parts[0].0.len() / parts[0].1;
    (0..rows)
        .flat_map(|row| {
            parts
                .iter()
                .flat_map(move |(part, width)| part[row * width..(row + 1) * width].to_vec())
        })
        .collect()
}
