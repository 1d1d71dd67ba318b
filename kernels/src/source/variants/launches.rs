//! One forward and one backward pass of each operation, on buffers that are only names.

use cubecl::{
    ir::{ElemType, IntKind},
    server::Handle,
};

use super::{Offline, Sizes};
use crate::flash_attention::{AttentionTile, FlashAttentionBlock, HeadView};
use crate::launch::F32;
use crate::swiglu::GateUp;
use crate::{
    KernelError, adamw, add_rmsnorm, cross_entropy, flash_attention, rmsnorm, rope, swiglu,
    swiglu_naive,
};

const EPSILON: f32 = 1e-5;
const VOCABULARY: usize = 1000;
const I32: ElemType = ElemType::Int(IntKind::I32);

/// A buffer for `elements` of `dtype`.
fn buffer(device: &Offline, name: &str, elements: usize, dtype: ElemType) -> Handle {
    device.buffer(name, elements * dtype.size())
}

pub(super) fn norm(
    device: &Offline,
    sizes: Sizes,
    dtype: ElemType,
    units: Option<usize>,
) -> Result<(), KernelError> {
    let client = device.client();
    let shape = rmsnorm::Shape {
        rows: sizes.batch * sizes.seq,
        width: sizes.hidden,
    };
    let mut block = rmsnorm::RmsNormBlock::for_device(client, shape);
    if let Some(units) = units {
        block.units_per_row = units;
        block.rows_per_cube = 1;
    }
    let dtypes = rmsnorm::Dtypes {
        activation: dtype,
        weight: dtype,
    };
    let rows = shape.rows * shape.width;
    let [x, y, y_gradient, x_gradient] =
        ["x", "y", "y_gradient", "x_gradient"].map(|name| buffer(device, name, rows, dtype));
    let [weight, weight_gradient] =
        ["weight", "weight_gradient"].map(|name| buffer(device, name, shape.width, dtype));
    let workspace = device.buffer("workspace", rmsnorm::workspace_bytes(shape, &block));
    let forward = rmsnorm::Forward {
        x: &x,
        weight: &weight,
        y: &y,
    };
    rmsnorm::forward(client, forward, shape, EPSILON, dtypes, &block)?;
    let backward = rmsnorm::Backward {
        x: &x,
        weight: &weight,
        y_gradient: &y_gradient,
        passed: None,
        x_gradient: &x_gradient,
        weight_gradient: &weight_gradient,
        workspace: &workspace,
    };
    rmsnorm::backward(client, backward, shape, EPSILON, dtypes, &block)
}

pub(super) fn add_norm(device: &Offline, sizes: Sizes, dtype: ElemType) -> Result<(), KernelError> {
    let client = device.client();
    let shape = rmsnorm::Shape {
        rows: sizes.batch * sizes.seq,
        width: sizes.hidden,
    };
    let block = rmsnorm::RmsNormBlock::for_device(client, shape);
    let dtypes = rmsnorm::Dtypes {
        activation: dtype,
        weight: dtype,
    };
    let rows = shape.rows * shape.width;
    let [x, residual, y, y_gradient, sum_gradient, gradient] = [
        "x",
        "residual",
        "y",
        "y_gradient",
        "sum_gradient",
        "gradient",
    ]
    .map(|name| buffer(device, name, rows, dtype));
    let [weight, weight_gradient] =
        ["weight", "weight_gradient"].map(|name| buffer(device, name, shape.width, dtype));
    let workspace = device.buffer("workspace", rmsnorm::workspace_bytes(shape, &block));
    let forward = add_rmsnorm::Forward {
        x: &x,
        residual: &residual,
        weight: &weight,
        sum: None,
        y: &y,
    };
    add_rmsnorm::forward(client, forward, shape, EPSILON, dtypes, &block)?;
    let backward = add_rmsnorm::Backward {
        sum: &residual,
        weight: &weight,
        sum_gradient: &sum_gradient,
        y_gradient: &y_gradient,
        gradient: &gradient,
        weight_gradient: &weight_gradient,
        workspace: &workspace,
    };
    add_rmsnorm::backward(client, backward, shape, EPSILON, dtypes, &block)
}

pub(super) fn turn(
    device: &Offline,
    sizes: Sizes,
    dtype: ElemType,
    units: Option<usize>,
) -> Result<(), KernelError> {
    let client = device.client();
    let shape = rope::Shape {
        batch: sizes.batch,
        seq: sizes.seq,
        heads: sizes.heads + 2 * sizes.key_heads,
        turned: sizes.heads + sizes.key_heads,
        head_dim: sizes.hidden / sizes.heads,
        layout: rope::Layout::TokenMajor,
    };
    let mut block = rope::RopeBlock::for_device(client);
    if let Some(units) = units {
        block.units_per_cube = units;
    }
    let elements = shape.batch * shape.seq * shape.heads * shape.head_dim;
    let x = buffer(device, "x", elements, dtype);
    let table = buffer(device, "table", shape.seq * shape.head_dim, F32);
    for inverse in [false, true] {
        let buffers = rope::Buffers {
            x: &x,
            table: &table,
            y: None,
        };
        rope::turn(client, buffers, shape, inverse, dtype, &block)?;
    }
    Ok(())
}

/// Queries, keys and values as columns of one projection, as the model has them.
pub(super) fn attention(
    device: &Offline,
    sizes: Sizes,
    dtype: ElemType,
    tile: Option<AttentionTile>,
) -> Result<(), KernelError> {
    let client = device.client();
    let Sizes {
        batch,
        seq,
        heads,
        key_heads,
        ..
    } = sizes;
    let head_dim = sizes.hidden / heads;
    let shape = flash_attention::Shape::new(batch, seq, heads, key_heads, head_dim);
    let block = match tile {
        Some(tile) => FlashAttentionBlock {
            forward: tile,
            query_gradient: tile,
            key_gradient: tile,
        },
        None => FlashAttentionBlock::for_device(client, shape),
    };
    let width = (heads + 2 * key_heads) * head_dim;
    let projection = |name: &str| -> [HeadView; 3] {
        let whole = buffer(device, name, batch * seq * width, dtype);
        [0, heads, heads + key_heads]
            .map(|head| HeadView::columns(whole.clone(), head * head_dim, width, seq, head_dim))
    };
    let rows = |name: &str| {
        let whole = buffer(device, name, shape.query_elements(), dtype);
        HeadView::rows_first(whole, seq, heads, head_dim)
    };
    let [query, key, value] = projection("qkv");
    let [query_gradient, key_gradient, value_gradient] = projection("qkv_gradient");
    let (output, output_gradient) = (rows("output"), rows("output_gradient"));
    let [log_sum_exp, delta] =
        ["log_sum_exp", "delta"].map(|name| buffer(device, name, shape.statistics(), F32));
    let forward = flash_attention::Forward {
        query: &query,
        key: &key,
        value: &value,
        output: &output,
        log_sum_exp: &log_sum_exp,
    };
    flash_attention::forward(client, forward, shape, dtype, &block)?;
    let alone = flash_attention::LogSumExp {
        query: &query,
        key: &key,
        log_sum_exp: &log_sum_exp,
    };
    flash_attention::log_sum_exp(client, alone, shape, dtype, &block)?;
    let backward = flash_attention::Backward {
        query: &query,
        key: &key,
        value: &value,
        output: &output,
        output_gradient: &output_gradient,
        log_sum_exp: &log_sum_exp,
        delta: &delta,
        query_gradient: &query_gradient,
        key_gradient: &key_gradient,
        value_gradient: &value_gradient,
    };
    flash_attention::backward(client, backward, shape, dtype, &block)
}

pub(super) fn activation(
    device: &Offline,
    sizes: Sizes,
    dtype: ElemType,
    units: Option<usize>,
) -> Result<(), KernelError> {
    let client = device.client();
    let shape = swiglu::Shape {
        rows: sizes.batch * sizes.seq,
        hidden: sizes.ffn,
    };
    let mut block = swiglu::SwigluBlock::for_device(client);
    if let Some(units) = units {
        block.units_per_cube = units;
    }
    let elements = shape.rows * shape.hidden;
    let [gate_up, gradient] =
        ["gate_up", "gate_up_gradient"].map(|name| buffer(device, name, 2 * elements, dtype));
    let [y, y_gradient] = ["y", "y_gradient"].map(|name| buffer(device, name, elements, dtype));
    let forward = swiglu::Forward {
        gate_up: GateUp::Packed(&gate_up),
        y: &y,
    };
    swiglu::forward(client, forward, shape, dtype, &block)?;
    let backward = swiglu::Backward {
        gate_up: GateUp::Packed(&gate_up),
        y_gradient: &y_gradient,
        gradient: Some(GateUp::Packed(&gradient)),
    };
    swiglu::backward(client, backward, shape, dtype, &block)
}

pub(super) fn naive(
    device: &Offline,
    sizes: Sizes,
    dtype: ElemType,
    units: Option<usize>,
) -> Result<(), KernelError> {
    let client = device.client();
    let shape = swiglu_naive::Shape {
        rows: sizes.batch * sizes.seq,
        width: sizes.hidden,
        hidden: sizes.ffn,
    };
    let mut block = swiglu_naive::SwigluNaiveBlock::for_device(client);
    if let Some(units) = units {
        block.units_per_cube = units;
    }
    let x = buffer(device, "x", shape.rows * shape.width, dtype);
    let [gate_weight, up_weight] = ["gate_weight", "up_weight"]
        .map(|name| buffer(device, name, shape.width * shape.hidden, dtype));
    let [gate, up, y] =
        ["gate", "up", "y"].map(|name| buffer(device, name, shape.rows * shape.hidden, dtype));
    let forward = swiglu_naive::Forward {
        x: &x,
        gate_weight: &gate_weight,
        up_weight: &up_weight,
        gate: &gate,
        up: &up,
        y: &y,
    };
    swiglu_naive::forward(client, forward, shape, dtype, &block)
}

pub(super) fn loss(
    device: &Offline,
    sizes: Sizes,
    dtype: ElemType,
    units: Option<usize>,
) -> Result<(), KernelError> {
    let client = device.client();
    let shape = cross_entropy::Shape {
        rows: sizes.batch * sizes.seq,
        classes: VOCABULARY,
    };
    let mut block = cross_entropy::CrossEntropyBlock::for_device(client, shape);
    if let Some(units) = units {
        block.units_per_row = units;
        block.rows_per_cube = 1;
    }
    let dtypes = cross_entropy::Dtypes {
        logits: dtype,
        targets: I32,
    };
    let scale = 1.0 / shape.rows as f32;
    let [logits, gradient] =
        ["logits", "gradient"].map(|name| buffer(device, name, shape.rows * shape.classes, dtype));
    let targets = buffer(device, "targets", shape.rows, I32);
    let [losses, log_sums] =
        ["losses", "log_sums"].map(|name| buffer(device, name, shape.rows, F32));
    let [upstream, mean] = ["upstream", "mean"].map(|name| buffer(device, name, 1, F32));
    let fused = cross_entropy::Fused {
        logits: &logits,
        targets: &targets,
        losses: &losses,
        gradient: Some(&gradient),
    };
    cross_entropy::fused(client, fused, shape, scale, dtypes, &block)?;
    let forward = cross_entropy::Forward {
        logits: &logits,
        targets: &targets,
        losses: &losses,
        log_sums: &log_sums,
    };
    cross_entropy::forward(client, forward, shape, dtypes, &block)?;
    let backward = cross_entropy::Backward {
        logits: &logits,
        targets: &targets,
        log_sums: &log_sums,
        upstream: &upstream,
        gradient: Some(&gradient),
    };
    cross_entropy::backward(client, backward, shape, scale, dtypes)?;
    cross_entropy::mean(client, &losses, &mean, shape.rows)
}

/// All parameters of a model in one launch. Weights are f32; with a 16-bit type, gradients are of it and a copy is kept.
pub(super) fn optimizer(
    device: &Offline,
    sizes: Sizes,
    dtype: ElemType,
    units: Option<usize>,
) -> Result<(), KernelError> {
    let client = device.client();
    let mut block = adamw::AdamwBlock::for_device(client);
    if let Some(units) = units {
        block.units = units;
    }
    let lengths = parameter_lengths(sizes);
    let make = |what: &str, dtype: ElemType| -> Vec<Handle> {
        lengths
            .iter()
            .enumerate()
            .map(|(index, length)| buffer(device, &format!("{what} {index}"), *length, dtype))
            .collect()
    };
    let (values, gradients, copies) = (
        make("value", F32),
        make("gradient", dtype),
        make("copy", dtype),
    );
    let parameters: Vec<adamw::Parameter<'_>> = lengths
        .iter()
        .enumerate()
        .map(|(index, elements)| adamw::Parameter {
            value: &values[index],
            gradient: &gradients[index],
            copy: (dtype != F32).then_some(&copies[index]),
            elements: *elements,
        })
        .collect();
    let state = adamw::state_elements(lengths.iter().copied());
    let [first_moment, second_moment] =
        ["first_moment", "second_moment"].map(|name| buffer(device, name, state, F32));
    let factors = device.buffer("factors", 8 * F32.size());
    adamw::step(
        client,
        &parameters,
        adamw::State {
            first_moment: &first_moment,
            second_moment: &second_moment,
        },
        adamw::FactorSource::Buffer(&factors),
        adamw::Dtypes {
            gradient: dtype,
            copy: dtype,
        },
        &block,
    )
    .map(drop)
}

/// Embedding; two norms, joint query-key-value, output, joint gate-up and down a layer; last norm.
fn parameter_lengths(sizes: Sizes) -> Vec<usize> {
    let Sizes { hidden, ffn, .. } = sizes;
    let head_dim = hidden / sizes.heads;
    let qkv = hidden * (sizes.heads + 2 * sizes.key_heads) * head_dim;
    let layer = [
        hidden,
        qkv,
        hidden * hidden,
        hidden,
        2 * hidden * ffn,
        hidden * ffn,
    ];
    let mut lengths = vec![VOCABULARY * hidden];
    lengths.extend(layer.repeat(sizes.layers));
    lengths.push(hidden);
    lengths
}
