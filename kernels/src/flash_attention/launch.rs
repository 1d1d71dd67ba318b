//! Launches: checks first, then one kernel forward and two backward; or the log-sum-exp alone.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use super::block::{FlashAttentionBlock, Grid, Pass};
use super::forward_kernel::flash_attention_forward;
use super::key_gradient::flash_attention_key_gradient;
use super::log_sum_exp_kernel::flash_attention_log_sum_exp;
use super::query_gradient::flash_attention_query_gradient;
use super::view::{HeadView, common_vector_size};
use super::{NAME, Shape};
use crate::{
    KernelError,
    launch::{Buffer, F32, check_float},
};

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

/// What [`log_sum_exp`] reads and writes; the result is f32 `[batch, heads, seq]`.
#[derive(Clone, Copy, Debug)]
pub struct LogSumExp<'a> {
    pub query: &'a HeadView,
    pub key: &'a HeadView,
    pub log_sum_exp: &'a Handle,
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
    let statistics = shape.check()?;
    check_float(NAME, dtype)?;
    let (heads, key_heads) = (shape.heads, shape.key_heads);
    let query = tensors.query.bind("query", shape, heads, dtype)?;
    let key = tensors.key.bind("key", shape, key_heads, dtype)?;
    let value = tensors.value.bind("value", shape, key_heads, dtype)?;
    let output = tensors.output.bind("output", shape, heads, dtype)?;
    let sums = Buffer::new(NAME, "log_sum_exp", tensors.log_sum_exp, statistics, F32)?;
    let size = common_vector_size(client, dtype, shape.head_dim, &[query, key, value, output]);
    let Grid { count, dim, tiling } = Grid::new(client, block.forward, shape, size, Pass::Forward)?;
    // SAFETY: every view and buffer holds what the shape says, and the kernel stays inside them.
    unsafe {
        flash_attention_forward::launch_unchecked(
            client,
            count,
            dim,
            size,
            tiling.columns_per_unit,
            query.argument(size),
            key.argument(size),
            value.argument(size),
            output.argument(size),
            sums.argument(1),
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
    let statistics = shape.check()?;
    check_float(NAME, dtype)?;
    let bind = |view, name, heads| HeadView::bind(view, name, shape, heads, dtype);
    let (heads, key_heads) = (shape.heads, shape.key_heads);
    let query = bind(tensors.query, "query", heads)?;
    let key = bind(tensors.key, "key", key_heads)?;
    let value = bind(tensors.value, "value", key_heads)?;
    let output = bind(tensors.output, "output", heads)?;
    let output_gradient = bind(tensors.output_gradient, "output_gradient", heads)?;
    let query_gradient = bind(tensors.query_gradient, "query_gradient", heads)?;
    let key_gradient = bind(tensors.key_gradient, "key_gradient", key_heads)?;
    let value_gradient = bind(tensors.value_gradient, "value_gradient", key_heads)?;
    let sums = Buffer::new(NAME, "log_sum_exp", tensors.log_sum_exp, statistics, F32)?;
    let delta = Buffer::new(NAME, "delta", tensors.delta, statistics, F32)?;
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
    let queries = Grid::new(
        client,
        block.query_gradient,
        shape,
        size,
        Pass::QueryGradient,
    )?;
    let keys = Grid::new(client, block.key_gradient, shape, size, Pass::KeyGradient)?;

    let Grid { count, dim, tiling } = queries;
    // SAFETY: every view and buffer holds what the shape says, and the kernel stays inside them.
    unsafe {
        flash_attention_query_gradient::launch_unchecked(
            client,
            count,
            dim,
            size,
            tiling.columns_per_unit,
            query.argument(size),
            key.argument(size),
            value.argument(size),
            output.argument(size),
            output_gradient.argument(size),
            sums.argument(1),
            delta.argument(1),
            query_gradient.argument(size),
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
    let Grid { count, dim, tiling } = keys;
    // SAFETY: as above.
    unsafe {
        flash_attention_key_gradient::launch_unchecked(
            client,
            count,
            dim,
            size,
            tiling.columns_per_unit,
            query.argument(size),
            key.argument(size),
            value.argument(size),
            output_gradient.argument(size),
            sums.argument(1),
            delta.argument(1),
            key_gradient.argument(size),
            value_gradient.argument(size),
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
    let statistics = shape.check()?;
    check_float(NAME, dtype)?;
    let query = tensors.query.bind("query", shape, shape.heads, dtype)?;
    let key = tensors.key.bind("key", shape, shape.key_heads, dtype)?;
    let sums = Buffer::new(NAME, "log_sum_exp", tensors.log_sum_exp, statistics, F32)?;
    let size = common_vector_size(client, dtype, shape.head_dim, &[query, key]);
    let Grid { count, dim, tiling } = Grid::new(client, block.forward, shape, size, Pass::Forward)?;
    // SAFETY: every view and buffer holds what the shape says, and the kernel stays inside them.
    unsafe {
        flash_attention_log_sum_exp::launch_unchecked(
            client,
            count,
            dim,
            size,
            query.argument(size),
            key.argument(size),
            sums.argument(1),
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
