//! Launches attention: checks first, then one kernel forward and two backward.

use cubecl::{ir::ElemType, prelude::*, server::Handle};
use tinyllama_kernel_catalog::flash_attention::AttentionShape;

use super::NAME;
use super::block::{AttentionGrid, AttentionPass, FlashAttentionBlock};
use super::forward_kernel::flash_attention_forward;
use super::key_gradient::flash_attention_key_gradient;
use super::query_gradient::flash_attention_query_gradient;
use super::view::{HeadView, common_vector_size};
use crate::{
    KernelError,
    launch::{CheckedBuffer, F32, check_float, check_shape},
};

/// Launches a kernel. Its arguments are the views that it reads, the numbers per row, the views that it writes, and the
/// places of all views.
macro_rules! attend {
    (
        $kernel:ident($width:ident), $client:ident, $grid:ident, $size:ident, $shape:ident, $dtype:ident,
        $($read:ident)* | $($number:ident)* | $($write:ident)*
    ) => {{
        let AttentionGrid { count, dim, tiling } = $grid;
        // SAFETY: every view and buffer matches the shape, and the kernel stays inside them.
        unsafe {
            $kernel::launch_unchecked(
                $client,
                count,
                dim,
                $size,
                tiling.$width,
                $($read.argument($size),)*
                $($number.argument(1),)*
                $($write.argument($size),)*
                $($read.place($size),)*
                $($write.place($size),)*
                $shape.seq,
                $shape.scale,
                tiling.lengths(),
                $shape.group(),
                tiling,
                $dtype,
            );
        }
    }};
}

/// Computes causal attention in one launch. Softmax and sums are in f32 for every element type. `log_sum_exp` is f32
/// `[batch, heads, seq]`, the rest has the element type of the launch.
///
/// # Errors
/// Fails before any launch if shapes, buffers or blocks do not fit.
pub fn forward(
    client: &Client,
    [query, key, value, output]: [&HeadView; 4],
    log_sum_exp: &Handle,
    shape: AttentionShape,
    dtype: ElemType,
    block: &FlashAttentionBlock,
) -> Result<(), KernelError> {
    let statistics = check_sizes(shape)?;
    check_float(NAME, dtype)?;
    let (heads, key_heads) = (shape.heads, shape.key_heads);
    let query = query.bind("query", shape, heads, dtype)?;
    let key = key.bind("key", shape, key_heads, dtype)?;
    let value = value.bind("value", shape, key_heads, dtype)?;
    let output = output.bind("output", shape, heads, dtype)?;
    let sums = CheckedBuffer::new(NAME, "log_sum_exp", log_sum_exp, statistics, F32)?;
    let size = common_vector_size(client, dtype, shape.head_dim, &[query, key, value, output]);
    let grid = AttentionGrid::new(client, block.forward, shape, size, AttentionPass::Forward)?;
    attend!(flash_attention_forward(columns_per_unit), client, grid, size, shape, dtype,
        query key value output | sums |);
    Ok(())
}

/// Computes the backward pass in two launches: query gradients, which also write `delta`, then key and value gradients.
/// The views are those of [`forward`], then the output's gradient, then the gradients of query, key and value.
/// Gradients are written, not added to. `delta` is scratch memory for f32 `[batch, heads, seq]`.
///
/// # Errors
/// As for [`forward`].
pub fn backward(
    client: &Client,
    views: [&HeadView; 8],
    [log_sum_exp, delta]: [&Handle; 2],
    shape: AttentionShape,
    dtype: ElemType,
    block: &FlashAttentionBlock,
) -> Result<(), KernelError> {
    let statistics = check_sizes(shape)?;
    check_float(NAME, dtype)?;
    let bind = |at: usize, name, heads| HeadView::bind(views[at], name, shape, heads, dtype);
    let (heads, key_heads) = (shape.heads, shape.key_heads);
    let bound = [
        bind(0, "query", heads)?,
        bind(1, "key", key_heads)?,
        bind(2, "value", key_heads)?,
        bind(3, "output", heads)?,
        bind(4, "output_gradient", heads)?,
        bind(5, "query_gradient", heads)?,
        bind(6, "key_gradient", key_heads)?,
        bind(7, "value_gradient", key_heads)?,
    ];
    let sums = CheckedBuffer::new(NAME, "log_sum_exp", log_sum_exp, statistics, F32)?;
    let delta = CheckedBuffer::new(NAME, "delta", delta, statistics, F32)?;
    let size = common_vector_size(client, dtype, shape.head_dim, &bound);
    let [query, key, value, output, output_gradient, ..] = bound;
    let [.., query_gradient, key_gradient, value_gradient] = bound;
    let queries = AttentionGrid::new(
        client,
        block.query_gradient,
        shape,
        size,
        AttentionPass::QueryGradient,
    )?;
    let keys = AttentionGrid::new(
        client,
        block.key_gradient,
        shape,
        size,
        AttentionPass::KeyGradient,
    )?;

    attend!(flash_attention_query_gradient(columns_per_unit), client, queries, size, shape, dtype,
        query key value output output_gradient | sums delta | query_gradient);
    attend!(flash_attention_key_gradient(columns_per_unit), client, keys, size, shape, dtype,
        query key value output_gradient | sums delta | key_gradient value_gradient);
    Ok(())
}

/// Refuses invalid shapes; otherwise returns the number of rows.
pub fn check_sizes(shape: AttentionShape) -> Result<usize, KernelError> {
    let [batch, seq, heads, key_heads, head_dim] = shape.sides();
    check_shape(NAME, &[batch, seq, heads, head_dim], &[])?;
    if key_heads == 0 || !heads.is_multiple_of(key_heads) {
        return Err(KernelError::Shape(
            NAME,
            format!("{heads} query heads cannot share {key_heads} key heads evenly"),
        ));
    }
    Ok(shape.statistics())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_without_meaning_are_refused() {
        assert!(check_sizes(AttentionShape::new(2, 3, 6, 3, 8)).is_ok());
        assert!(check_sizes(AttentionShape::new(2, 3, 6, 4, 8)).is_err());
        assert!(check_sizes(AttentionShape::new(0, 3, 6, 3, 8)).is_err());
        assert!(check_sizes(AttentionShape::new(2, 3, 6, 0, 8)).is_err());
        assert!(check_sizes(AttentionShape::new(1 << 20, 1 << 10, 8, 8, 64)).is_err());
    }
}
