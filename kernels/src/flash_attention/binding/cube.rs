//! Attention with its rotary embedding by the kernels, for both layouts of keys and values.

use burn::tensor::DType;

use tinyllama_kernel_catalog::flash_attention::AttentionShape;
use tinyllama_kernel_catalog::rope::RopeShape;

use super::repeated::{fuse, transposed_heads};
use super::{KeyValueLayout, RotaryAttention, RotaryAttentionGradient};
use crate::binding::cube::{CubeBackend, CubeTensor, check, element, empty, into_contiguous};
use crate::flash_attention::{FlashAttentionBlock, HeadView, backward, forward};
use crate::launch::cube_block;
use crate::rope;

impl RotaryAttention for CubeBackend {
    fn rotary_attention(
        qkv: CubeTensor,
        table: CubeTensor,
        shape: AttentionShape,
        layout: KeyValueLayout,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        let [qkv, table] = [qkv, table].map(into_contiguous);
        // Works in place if the projection has no other reader. Otherwise it copies first: a kernel that writes to
        // another buffer leaves the value heads unwritten.
        let turned = if qkv.handle.can_mut() {
            qkv
        } else {
            qkv.copy()
        };
        rotate(&turned, &table, shape, false);

        let output = [shape.tokens(), shape.heads * shape.head_dim];
        let output = empty(&turned, output, turned.dtype);
        let statistics = [shape.batch, shape.heads, shape.seq];
        let log_sum_exp = empty(&turned, statistics, DType::F32);
        let ([query, key, value], seen) = inputs(&turned, shape, layout);
        let block = FlashAttentionBlock::new(&turned.client, seen, None);
        let views = [&query, &key, &value, &rows(&output, shape)];
        let (client, sums, dtype) = (&turned.client, &log_sum_exp.handle, element(&turned));
        check(forward(client, views, sums, seen, dtype, &block));
        (output, turned, log_sum_exp)
    }
}

impl RotaryAttentionGradient for CubeBackend {
    fn rotary_attention_gradient(
        turned: CubeTensor,
        table: CubeTensor,
        output: CubeTensor,
        log_sum_exp: CubeTensor,
        gradient: CubeTensor,
        shape: AttentionShape,
        layout: KeyValueLayout,
    ) -> CubeTensor {
        let [turned, table, output, gradient] =
            [turned, table, output, gradient].map(into_contiguous);
        let delta = empty(&turned, [shape.batch, shape.heads, shape.seq], DType::F32);
        let ([query, key, value], seen) = inputs(&turned, shape, layout);
        // If keys and values are repeated, so are their gradients, and each has its own matrix.
        let room = |width| empty(&turned, [shape.tokens(), width], turned.dtype);
        let (results, views) = match layout {
            KeyValueLayout::Shared => {
                let result = room(shape.width());
                let views = HeadView::fused(&result.handle, shape);
                (vec![result], views)
            }
            KeyValueLayout::RepeatedTransposed => {
                let results = [(); 3].map(|()| room(shape.heads * shape.head_dim));
                let views = results.each_ref().map(|result| rows(result, shape));
                (results.into(), views)
            }
        };
        let block = FlashAttentionBlock::new(&turned.client, seen, None);
        let (client, dtype) = (&turned.client, element(&turned));
        let [output, gradient] = [&output, &gradient].map(|tensor| rows(tensor, shape));
        let [dq, dk, dv] = views.each_ref();
        let views = [&query, &key, &value, &output, &gradient, dq, dk, dv];
        let statistics = [&log_sum_exp.handle, &delta.handle];
        check(backward(client, views, statistics, seen, dtype, &block));
        let gradient = match <[CubeTensor; 3]>::try_from(results) {
            Ok(parts) => into_contiguous(fuse::<CubeBackend>(parts, shape)),
            Err(mut fused) => fused.remove(0),
        };
        rotate(&gradient, &table, shape, true);
        gradient
    }
}

/// Returns the inputs of the attention kernels, and the shape in which they read them.
fn inputs(
    turned: &CubeTensor,
    shape: AttentionShape,
    layout: KeyValueLayout,
) -> ([HeadView; 3], AttentionShape) {
    let [query, key, value] = HeadView::fused(&turned.handle, shape);
    if layout == KeyValueLayout::Shared {
        return ([query, key, value], shape);
    }
    let [key, value] = transposed_heads::<CubeBackend>(turned.clone(), shape)
        .map(|heads| HeadView::transposed(&into_contiguous(heads).handle, shape, shape.heads));
    let repeated = AttentionShape {
        key_heads: shape.heads,
        ..shape
    };
    ([query, key, value], repeated)
}

/// Views attention results or their gradients: one row per token.
fn rows(output: &CubeTensor, shape: AttentionShape) -> HeadView {
    HeadView::rows_first(&output.handle, shape, shape.heads)
}

/// Rotates queries and keys of `x` in place.
fn rotate(x: &CubeTensor, table: &CubeTensor, shape: AttentionShape, inverse: bool) {
    let shape = RopeShape::from_attention(shape);
    let (client, buffers) = (&x.client, [&x.handle, &table.handle]);
    let (dtype, block) = (element(x), cube_block(rope::NAME, client, None));
    check(rope::turn(
        client, buffers, None, shape, inverse, dtype, &block,
    ));
}
