//! Attention with its rotary embedding, in either layout of keys and values.

use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;

use super::super::repeated::{fuse, transposed_heads};
use super::super::{AttentionSizes, KeyValueLayout};
use super::{check, element, empty};
use crate::flash_attention::{self, FlashAttentionBlock, HeadView};
use crate::rope;

/// See [`super::super::LlamaOps::llama_attention`].
pub(super) fn forward(
    qkv: CubeTensor,
    table: CubeTensor,
    sizes: AttentionSizes,
    layout: KeyValueLayout,
) -> (CubeTensor, CubeTensor, CubeTensor) {
    let (qkv, table) = (into_contiguous(qkv), into_contiguous(table));
    // In place where nobody else reads the projection; a copy first where somebody does, because a kernel that
    // writes elsewhere leaves the value heads unwritten.
    let turned = if qkv.handle.can_mut() {
        qkv
    } else {
        qkv.copy()
    };
    turn(&turned, &table, None, sizes, false);

    let dtype = turned.dtype;
    let output = empty(
        &turned,
        [sizes.tokens(), sizes.heads * sizes.head_dim],
        dtype,
    );
    let statistics = [sizes.batch, sizes.heads, sizes.sequence];
    let log_sum_exp = empty(&turned, statistics, DType::F32);
    let ([query, key, value], shape) = attention_inputs(&turned, sizes, layout);
    let block = FlashAttentionBlock::for_device(&turned.client, shape);
    let tensors = flash_attention::Forward {
        query: &query,
        key: &key,
        value: &value,
        output: &output_view(&output, sizes),
        log_sum_exp: &log_sum_exp.handle,
    };
    check(flash_attention::forward(
        &turned.client,
        tensors,
        shape,
        element(dtype),
        &block,
    ));
    (output, turned, log_sum_exp)
}

/// See [`super::super::LlamaOps::llama_attention_gradient`].
pub(super) fn gradient(
    turned: CubeTensor,
    table: CubeTensor,
    output: CubeTensor,
    log_sum_exp: CubeTensor,
    gradient: CubeTensor,
    sizes: AttentionSizes,
    layout: KeyValueLayout,
) -> CubeTensor {
    let (turned, table) = (into_contiguous(turned), into_contiguous(table));
    let (output, gradient) = (into_contiguous(output), into_contiguous(gradient));
    let dtype = turned.dtype;
    let statistics = [sizes.batch, sizes.heads, sizes.sequence];
    let delta = empty(&turned, statistics, DType::F32);
    let ([query, key, value], shape) = attention_inputs(&turned, sizes, layout);
    let room = GradientRoom::new(&turned, sizes, layout);
    let [query_gradient, key_gradient, value_gradient] = room.views(sizes);
    let block = FlashAttentionBlock::for_device(&turned.client, shape);
    let tensors = flash_attention::Backward {
        query: &query,
        key: &key,
        value: &value,
        output: &output_view(&output, sizes),
        output_gradient: &output_view(&gradient, sizes),
        log_sum_exp: &log_sum_exp.handle,
        delta: &delta.handle,
        query_gradient: &query_gradient,
        key_gradient: &key_gradient,
        value_gradient: &value_gradient,
    };
    check(flash_attention::backward(
        &turned.client,
        tensors,
        shape,
        element(dtype),
        &block,
    ));
    let qkv_gradient = room.fused(sizes);
    turn(&qkv_gradient, &table, None, sizes, true);
    qkv_gradient
}

fn attention_shape(sizes: AttentionSizes) -> flash_attention::Shape {
    flash_attention::Shape::new(
        sizes.batch,
        sizes.sequence,
        sizes.heads,
        sizes.key_heads,
        sizes.head_dim,
    )
}

/// Queries, keys and values inside a fused projection.
fn views(qkv: &CubeTensor, sizes: AttentionSizes) -> [HeadView; 3] {
    let (queries, keys) = (
        sizes.heads * sizes.head_dim,
        sizes.key_heads * sizes.head_dim,
    );
    [0, queries, queries + keys].map(|first| {
        HeadView::columns(
            qkv.handle.clone(),
            first,
            sizes.width(),
            sizes.sequence,
            sizes.head_dim,
        )
    })
}

/// What the attention kernels read, and the shape they read it in.
fn attention_inputs(
    turned: &CubeTensor,
    sizes: AttentionSizes,
    layout: KeyValueLayout,
) -> ([HeadView; 3], flash_attention::Shape) {
    let [query, key, value] = views(turned, sizes);
    match layout {
        KeyValueLayout::Shared => ([query, key, value], attention_shape(sizes)),
        KeyValueLayout::RepeatedTransposed => {
            let [key, value] = transposed_heads::<CubeBackend>(turned.clone(), sizes)
                .map(|heads| transposed_view(into_contiguous(heads), sizes));
            ([query, key, value], attention_shape(sizes.repeated()))
        }
    }
}

fn transposed_view(heads: CubeTensor, sizes: AttentionSizes) -> HeadView {
    HeadView::transposed(heads.handle, sizes.sequence, sizes.heads, sizes.head_dim)
}

/// Where the attention kernels write gradients.
#[expect(
    clippy::large_enum_variant,
    reason = "it lives for one call and is never stored"
)]
enum GradientRoom {
    /// One row a token, as the fused projection.
    Fused(CubeTensor),
    /// One matrix each for queries, keys and values, with keys and values per query head.
    PerQueryHead([CubeTensor; 3]),
}

impl GradientRoom {
    fn new(like: &CubeTensor, sizes: AttentionSizes, layout: KeyValueLayout) -> Self {
        match layout {
            KeyValueLayout::Shared => {
                GradientRoom::Fused(empty(like, [sizes.tokens(), sizes.width()], like.dtype))
            }
            KeyValueLayout::RepeatedTransposed => {
                let shape = [sizes.tokens(), sizes.heads * sizes.head_dim];
                let parts = [(); 3].map(|()| empty(like, shape, like.dtype));
                GradientRoom::PerQueryHead(parts)
            }
        }
    }

    fn views(&self, sizes: AttentionSizes) -> [HeadView; 3] {
        match self {
            GradientRoom::Fused(fused) => views(fused, sizes),
            GradientRoom::PerQueryHead(parts) => {
                parts.each_ref().map(|part| output_view(part, sizes))
            }
        }
    }

    /// The gradient of the fused projection.
    fn fused(self, sizes: AttentionSizes) -> CubeTensor {
        match self {
            GradientRoom::Fused(fused) => fused,
            GradientRoom::PerQueryHead(parts) => into_contiguous(fuse::<CubeBackend>(parts, sizes)),
        }
    }
}

/// Attention results and their gradients: one row a token.
fn output_view(output: &CubeTensor, sizes: AttentionSizes) -> HeadView {
    HeadView::rows_first(
        output.handle.clone(),
        sizes.sequence,
        sizes.heads,
        sizes.head_dim,
    )
}

/// Turns queries and keys of `x` into `y`, or in place.
fn turn(
    x: &CubeTensor,
    table: &CubeTensor,
    y: Option<&CubeTensor>,
    sizes: AttentionSizes,
    inverse: bool,
) {
    let shape = rope::Shape {
        batch: sizes.batch,
        seq: sizes.sequence,
        heads: sizes.heads + 2 * sizes.key_heads,
        turned: sizes.heads + sizes.key_heads,
        head_dim: sizes.head_dim,
        layout: rope::Layout::TokenMajor,
    };
    let buffers = rope::Buffers {
        x: &x.handle,
        table: &table.handle,
        y: y.map(|y| &y.handle),
    };
    let block = rope::RopeBlock::for_device(&x.client);
    check(rope::turn(
        &x.client,
        buffers,
        shape,
        inverse,
        element(x.dtype),
        &block,
    ));
}
