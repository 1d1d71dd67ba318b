//! The operations by this crate's kernels, for burn's GPU backends.
//!
//! A launch that is refused, by a shape beyond 32-bit indices or a block the device cannot run, panics with the reason:
//! burn's operations have no other way to report it, and the training loop turns it into an error.

use burn::backend::TensorMetadata;
use burn::tensor::{DType, Shape};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};

use super::{AttentionSizes, LlamaOps};
use crate::flash_attention::{self, FlashAttentionBlock, HeadView};
use crate::{KernelError, cross_entropy, launch, rmsnorm, rope, swiglu};

fn check(result: Result<(), KernelError>) {
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// An uninitialised tensor beside `like`.
fn empty<const D: usize>(like: &CubeTensor, shape: [usize; D], dtype: DType) -> CubeTensor {
    empty_device_contiguous_dtype(
        like.client.clone(),
        like.device.clone(),
        Shape::new(shape),
        dtype,
    )
}

fn element(dtype: DType) -> ElemType {
    match dtype {
        DType::F32 => ElemType::Float(FloatKind::F32),
        DType::F16 => ElemType::Float(FloatKind::F16),
        DType::BF16 => ElemType::Float(FloatKind::BF16),
        DType::I32 => ElemType::Int(IntKind::I32),
        DType::I64 => ElemType::Int(IntKind::I64),
        DType::U32 => ElemType::UInt(UIntKind::U32),
        other => panic!("the kernels have no code for {other:?}"),
    }
}

/// A tensor's two dimensions.
fn matrix(tensor: &CubeTensor) -> [usize; 2] {
    let shape = tensor.shape();
    [shape[0], shape[1]]
}

fn norm_shape(x: &CubeTensor) -> rmsnorm::Shape {
    let [rows, width] = matrix(x);
    rmsnorm::Shape { rows, width }
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

impl LlamaOps for CubeBackend {
    fn llama_rms_norm(x: CubeTensor, weight: CubeTensor, epsilon: f32) -> CubeTensor {
        let (x, weight) = (into_contiguous(x), into_contiguous(weight));
        let shape = norm_shape(&x);
        let y = empty(&x, matrix(&x), x.dtype);
        let block = rmsnorm::RmsNormBlock::for_device(&x.client, shape);
        let buffers = rmsnorm::Forward {
            x: &x.handle,
            weight: &weight.handle,
            y: &y.handle,
        };
        let dtypes = rmsnorm::Dtypes {
            activation: element(x.dtype),
            weight: element(weight.dtype),
        };
        check(rmsnorm::forward(
            &x.client, buffers, shape, epsilon, dtypes, &block,
        ));
        y
    }

    fn llama_rms_norm_gradient(
        x: CubeTensor,
        weight: CubeTensor,
        gradient: CubeTensor,
        epsilon: f32,
    ) -> (CubeTensor, CubeTensor) {
        let (x, weight) = (into_contiguous(x), into_contiguous(weight));
        let gradient = into_contiguous(gradient);
        let shape = norm_shape(&x);
        let block = rmsnorm::RmsNormBlock::for_device(&x.client, shape);
        let x_gradient = empty(&x, matrix(&x), x.dtype);
        let weight_gradient = empty(&x, [shape.width], weight.dtype);
        let workspace_floats = rmsnorm::workspace_bytes(shape, &block) / launch::F32.size();
        let workspace = empty(&x, [workspace_floats], DType::F32);
        let buffers = rmsnorm::Backward {
            x: &x.handle,
            weight: &weight.handle,
            y_gradient: &gradient.handle,
            passed: None,
            x_gradient: &x_gradient.handle,
            weight_gradient: &weight_gradient.handle,
            workspace: &workspace.handle,
        };
        let dtypes = rmsnorm::Dtypes {
            activation: element(x.dtype),
            weight: element(weight.dtype),
        };
        check(rmsnorm::backward(
            &x.client, buffers, shape, epsilon, dtypes, &block,
        ));
        (x_gradient, weight_gradient)
    }

    fn llama_attention(
        qkv: CubeTensor,
        table: CubeTensor,
        sizes: AttentionSizes,
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
        let [query, key, value] = views(&turned, sizes);
        let shape = attention_shape(sizes);
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

    fn llama_attention_gradient(
        turned: CubeTensor,
        table: CubeTensor,
        output: CubeTensor,
        log_sum_exp: CubeTensor,
        gradient: CubeTensor,
        sizes: AttentionSizes,
    ) -> CubeTensor {
        let (turned, table) = (into_contiguous(turned), into_contiguous(table));
        let (output, gradient) = (into_contiguous(output), into_contiguous(gradient));
        let dtype = turned.dtype;
        let qkv_gradient = empty(&turned, [sizes.tokens(), sizes.width()], dtype);
        let delta = empty(
            &turned,
            [sizes.batch, sizes.heads, sizes.sequence],
            DType::F32,
        );
        let [query, key, value] = views(&turned, sizes);
        let [query_gradient, key_gradient, value_gradient] = views(&qkv_gradient, sizes);
        let shape = attention_shape(sizes);
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
        turn(&qkv_gradient, &table, None, sizes, true);
        qkv_gradient
    }

    fn llama_swiglu(gate_up: CubeTensor) -> CubeTensor {
        let gate_up = into_contiguous(gate_up);
        let [rows, width] = matrix(&gate_up);
        let shape = swiglu::Shape {
            rows,
            hidden: width / 2,
        };
        let y = empty(&gate_up, [rows, width / 2], gate_up.dtype);
        let block = swiglu::SwigluBlock::for_device(&gate_up.client);
        let buffers = swiglu::Forward {
            gate_up: swiglu::GateUp::Packed(&gate_up.handle),
            y: &y.handle,
        };
        check(swiglu::forward(
            &gate_up.client,
            buffers,
            shape,
            element(gate_up.dtype),
            &block,
        ));
        y
    }

    fn llama_swiglu_gradient(gate_up: CubeTensor, gradient: CubeTensor) -> CubeTensor {
        let (gate_up, gradient) = (into_contiguous(gate_up), into_contiguous(gradient));
        let [rows, width] = matrix(&gate_up);
        let shape = swiglu::Shape {
            rows,
            hidden: width / 2,
        };
        let result = empty(&gate_up, [rows, width], gate_up.dtype);
        let block = swiglu::SwigluBlock::for_device(&gate_up.client);
        let buffers = swiglu::Backward {
            gate_up: swiglu::GateUp::Packed(&gate_up.handle),
            y_gradient: &gradient.handle,
            gradient: Some(swiglu::GateUp::Packed(&result.handle)),
        };
        check(swiglu::backward(
            &gate_up.client,
            buffers,
            shape,
            element(gate_up.dtype),
            &block,
        ));
        result
    }

    fn llama_cross_entropy(logits: CubeTensor, targets: CubeTensor) -> (CubeTensor, CubeTensor) {
        let (logits, targets) = (into_contiguous(logits), into_contiguous(targets));
        let [rows, classes] = matrix(&logits);
        let shape = cross_entropy::Shape { rows, classes };
        let losses = empty(&logits, [rows], DType::F32);
        let loss = empty(&logits, [1], DType::F32);
        let gradient = empty(&logits, [rows, classes], logits.dtype);
        let block = cross_entropy::CrossEntropyBlock::for_device(&logits.client, shape);
        let buffers = cross_entropy::Fused {
            logits: &logits.handle,
            targets: &targets.handle,
            losses: &losses.handle,
            gradient: Some(&gradient.handle),
        };
        let dtypes = cross_entropy::Dtypes {
            logits: element(logits.dtype),
            targets: element(targets.dtype),
        };
        let scale = 1.0 / rows as f32;
        check(cross_entropy::fused(
            &logits.client,
            buffers,
            shape,
            scale,
            dtypes,
            &block,
        ));
        check(cross_entropy::mean(
            &logits.client,
            &losses.handle,
            &loss.handle,
            rows,
        ));
        (loss, gradient)
    }
}
