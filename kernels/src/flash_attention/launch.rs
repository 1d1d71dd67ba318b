//! Launches: checks first, then one kernel forward and two backward; or the log-sum-exp alone.

use cubecl::{
    ir::{ElemType, FloatKind},
    prelude::*,
    server::Handle,
};

use super::block::{AttentionTile, FlashAttentionBlock, Pass};
use super::forward_kernel::flash_attention_forward;
use super::key_gradient::flash_attention_key_gradient;
use super::log_sum_exp_kernel::flash_attention_log_sum_exp;
use super::query_gradient::flash_attention_query_gradient;
use super::view::{HeadView, common_vector_size};
use super::{KERNEL, Shape};
use crate::{
    KernelError,
    launch::{buffer, check_buffer, check_float},
};

const STATISTIC: ElemType = ElemType::Float(FloatKind::F32);

/// What the forward pass reads and writes. `log_sum_exp` is f32 `[batch, heads, seq]`, the rest has the element type of
/// the launch.
#[derive(Clone, Copy, Debug)]
pub struct Forward<'a> {
    pub query: &'a HeadView,
    pub key: &'a HeadView,
    pub value: &'a HeadView,
    pub output: &'a HeadView,
    pub log_sum_exp: &'a Handle,
}

/// What the backward pass reads and writes. `delta` is room for f32 `[batch, heads, seq]`; the gradients are written,
/// not added to.
#[derive(Clone, Copy, Debug)]
pub struct Backward<'a> {
    pub query: &'a HeadView,
    pub key: &'a HeadView,
    pub value: &'a HeadView,
    pub output: &'a HeadView,
    pub output_gradient: &'a HeadView,
    pub log_sum_exp: &'a Handle,
    pub delta: &'a Handle,
    pub query_gradient: &'a HeadView,
    pub key_gradient: &'a HeadView,
    pub value_gradient: &'a HeadView,
}

/// Causal attention, one launch. Softmax and sums are in f32 whatever the element type.
///
/// # Errors
/// Shapes, buffers and blocks that do not fit, before anything is launched.
pub fn forward(
    client: &Client,
    tensors: Forward<'_>,
    shape: Shape,
    dtype: ElemType,
    block: &FlashAttentionBlock,
) -> Result<(), KernelError> {
    let Forward {
        query,
        key,
        value,
        output,
        log_sum_exp,
    } = tensors;
    let statistics = shape.check()?;
    check_float(KERNEL, dtype)?;
    let (heads, key_heads) = (shape.heads, shape.key_heads);
    query.check(KERNEL, "query", shape, heads, dtype)?;
    key.check(KERNEL, "key", shape, key_heads, dtype)?;
    value.check(KERNEL, "value", shape, key_heads, dtype)?;
    output.check(KERNEL, "output", shape, heads, dtype)?;
    check_buffer(KERNEL, "log_sum_exp", log_sum_exp, statistics, STATISTIC)?;

    let size = common_vector_size(client, dtype, shape.head_dim, &[query, key, value, output]);
    let block = block.forward;
    block.check(client, shape, size, Pass::Forward)?;
    let tiling = block.tiling(client, shape.head_dim / size);
    let count = cube_count(client, shape, heads, block)?;
    // SAFETY: every view and buffer was checked against the shape, and the kernel stays inside them.
    unsafe {
        flash_attention_forward::launch_unchecked(
            client,
            count,
            CubeDim::new_1d(tiling.units() as u32),
            size,
            block.columns_per_unit,
            query.buffer(shape, heads, size),
            key.buffer(shape, key_heads, size),
            value.buffer(shape, key_heads, size),
            output.buffer(shape, heads, size),
            buffer(log_sum_exp, statistics, 1),
            query.place(size),
            key.place(size),
            value.place(size),
            output.place(size),
            shape.seq,
            shape.scale,
            tiling.lengths(),
            shape.group(),
            tiling,
            dtype,
        );
    }
    Ok(())
}

/// The backward pass, two launches: query gradients, which also leave `delta` behind, then key and value gradients.
///
/// # Errors
/// As [`forward`].
pub fn backward(
    client: &Client,
    tensors: Backward<'_>,
    shape: Shape,
    dtype: ElemType,
    block: &FlashAttentionBlock,
) -> Result<(), KernelError> {
    let Backward {
        query,
        key,
        value,
        output,
        output_gradient,
        log_sum_exp,
        delta,
        query_gradient,
        key_gradient,
        value_gradient,
    } = tensors;
    let statistics = shape.check()?;
    check_float(KERNEL, dtype)?;
    let (heads, key_heads) = (shape.heads, shape.key_heads);
    query.check(KERNEL, "query", shape, heads, dtype)?;
    key.check(KERNEL, "key", shape, key_heads, dtype)?;
    value.check(KERNEL, "value", shape, key_heads, dtype)?;
    output.check(KERNEL, "output", shape, heads, dtype)?;
    output_gradient.check(KERNEL, "output_gradient", shape, heads, dtype)?;
    query_gradient.check(KERNEL, "query_gradient", shape, heads, dtype)?;
    key_gradient.check(KERNEL, "key_gradient", shape, key_heads, dtype)?;
    value_gradient.check(KERNEL, "value_gradient", shape, key_heads, dtype)?;
    check_buffer(KERNEL, "log_sum_exp", log_sum_exp, statistics, STATISTIC)?;
    check_buffer(KERNEL, "delta", delta, statistics, STATISTIC)?;

    let views = [
        query,
        key,
        value,
        output,
        output_gradient,
        query_gradient,
        key_gradient,
        value_gradient,
    ];
    let size = common_vector_size(client, dtype, shape.head_dim, &views);
    let (query_block, key_block) = (block.query_gradient, block.key_gradient);
    query_block.check(client, shape, size, Pass::QueryGradient)?;
    key_block.check(client, shape, size, Pass::KeyGradient)?;
    let query_count = cube_count(client, shape, heads, query_block)?;
    let key_count = cube_count(client, shape, key_heads, key_block)?;

    let tiling = query_block.tiling(client, shape.head_dim / size);
    // SAFETY: every view and buffer was checked against the shape, and the kernel stays inside them.
    unsafe {
        flash_attention_query_gradient::launch_unchecked(
            client,
            query_count,
            CubeDim::new_1d(tiling.units() as u32),
            size,
            query_block.columns_per_unit,
            query.buffer(shape, heads, size),
            key.buffer(shape, key_heads, size),
            value.buffer(shape, key_heads, size),
            output.buffer(shape, heads, size),
            output_gradient.buffer(shape, heads, size),
            buffer(log_sum_exp, statistics, 1),
            buffer(delta, statistics, 1),
            query_gradient.buffer(shape, heads, size),
            query.place(size),
            key.place(size),
            value.place(size),
            output.place(size),
            output_gradient.place(size),
            query_gradient.place(size),
            shape.seq,
            shape.scale,
            tiling.lengths(),
            shape.group(),
            tiling,
            dtype,
        );
    }
    let tiling = key_block.tiling(client, shape.head_dim / size);
    // SAFETY: as above.
    unsafe {
        flash_attention_key_gradient::launch_unchecked(
            client,
            key_count,
            CubeDim::new_1d(tiling.units() as u32),
            size,
            key_block.columns_per_unit,
            query.buffer(shape, heads, size),
            key.buffer(shape, key_heads, size),
            value.buffer(shape, key_heads, size),
            output_gradient.buffer(shape, heads, size),
            buffer(log_sum_exp, statistics, 1),
            buffer(delta, statistics, 1),
            key_gradient.buffer(shape, key_heads, size),
            value_gradient.buffer(shape, key_heads, size),
            query.place(size),
            key.place(size),
            value.place(size),
            output_gradient.place(size),
            key_gradient.place(size),
            value_gradient.place(size),
            shape.seq,
            shape.scale,
            tiling.lengths(),
            shape.group(),
            tiling,
            dtype,
        );
    }
    Ok(())
}

/// What [`log_sum_exp`] reads and writes; the result is f32 `[batch, heads, seq]`.
#[derive(Clone, Copy, Debug)]
pub struct LogSumExp<'a> {
    pub query: &'a HeadView,
    pub key: &'a HeadView,
    pub log_sum_exp: &'a Handle,
}

/// The log of each row's sum of exponentials and nothing else, one launch: half a forward pass.
///
/// # Errors
/// As [`forward`].
pub fn log_sum_exp(
    client: &Client,
    tensors: LogSumExp<'_>,
    shape: Shape,
    dtype: ElemType,
    block: &FlashAttentionBlock,
) -> Result<(), KernelError> {
    let LogSumExp {
        query,
        key,
        log_sum_exp,
    } = tensors;
    let statistics = shape.check()?;
    check_float(KERNEL, dtype)?;
    let (heads, key_heads) = (shape.heads, shape.key_heads);
    query.check(KERNEL, "query", shape, heads, dtype)?;
    key.check(KERNEL, "key", shape, key_heads, dtype)?;
    check_buffer(KERNEL, "log_sum_exp", log_sum_exp, statistics, STATISTIC)?;

    let size = common_vector_size(client, dtype, shape.head_dim, &[query, key]);
    let block = block.forward;
    block.check(client, shape, size, Pass::Forward)?;
    let tiling = block.tiling(client, shape.head_dim / size);
    let count = cube_count(client, shape, heads, block)?;
    // SAFETY: every view and buffer was checked against the shape, and the kernel stays inside them.
    unsafe {
        flash_attention_log_sum_exp::launch_unchecked(
            client,
            count,
            CubeDim::new_1d(tiling.units() as u32),
            size,
            query.buffer(shape, heads, size),
            key.buffer(shape, key_heads, size),
            buffer(log_sum_exp, statistics, 1),
            query.place(size),
            key.place(size),
            shape.seq,
            shape.scale,
            tiling.lengths(),
            shape.group(),
            tiling,
            dtype,
        );
    }
    Ok(())
}

/// One cube for each block of rows of each head of each sequence.
fn cube_count(
    client: &Client,
    shape: Shape,
    heads: usize,
    block: AttentionTile,
) -> Result<CubeCount, KernelError> {
    let blocks = shape.seq.div_ceil(block.rows());
    let limit = client.properties().hardware.max_cube_count;
    if heads > limit.0 as usize || shape.batch > limit.1 as usize || blocks > limit.2 as usize {
        return Err(KernelError::Shape {
            kernel: KERNEL,
            reason: format!(
                "{heads} heads x {} sequences x {blocks} blocks is more than the {limit:?} cubes this device launches at once",
                shape.batch
            ),
        });
    }
    Ok(CubeCount::Static(
        heads as u32,
        shape.batch as u32,
        blocks as u32,
    ))
}
