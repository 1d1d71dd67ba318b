//! The operations by this crate's kernels, for burn's GPU backends.
//!
//! A launch that is refused, by a shape beyond 32-bit indices or a block the device cannot run, panics with the reason:
//! burn's operations have no other way to report it, and the training loop turns it into an error.

mod attention;
mod library;

use burn::backend::TensorMetadata;
use burn::tensor::{DType, Shape};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};

use super::{AttentionSizes, KeyValueLayout, LibraryChoice, LlamaOps};
use crate::{KernelError, cross_entropy, launch, rmsnorm, swiglu, swiglu_naive};

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

fn naive_shape(x: &CubeTensor, weight: &CubeTensor) -> swiglu_naive::Shape {
    let ([rows, width], [_, hidden]) = (matrix(x), matrix(weight));
    swiglu_naive::Shape {
        rows,
        width,
        hidden,
    }
}

fn rms_norm_gradient(
    x: CubeTensor,
    weight: CubeTensor,
    gradient: CubeTensor,
    passed: Option<CubeTensor>,
    epsilon: f32,
) -> (CubeTensor, CubeTensor) {
    let (x, weight) = (into_contiguous(x), into_contiguous(weight));
    let (gradient, passed) = (into_contiguous(gradient), passed.map(into_contiguous));
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
        passed: passed.as_ref().map(|passed| &passed.handle),
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
        rms_norm_gradient(x, weight, gradient, None, epsilon)
    }

    fn llama_rms_norm_gradient_onto(
        x: CubeTensor,
        weight: CubeTensor,
        gradient: CubeTensor,
        passed: CubeTensor,
        epsilon: f32,
    ) -> (CubeTensor, CubeTensor) {
        rms_norm_gradient(x, weight, gradient, Some(passed), epsilon)
    }

    fn llama_attention(
        qkv: CubeTensor,
        table: CubeTensor,
        sizes: AttentionSizes,
        layout: KeyValueLayout,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        attention::forward(qkv, table, sizes, layout)
    }

    fn llama_attention_gradient(
        turned: CubeTensor,
        table: CubeTensor,
        output: CubeTensor,
        log_sum_exp: CubeTensor,
        gradient: CubeTensor,
        sizes: AttentionSizes,
        layout: KeyValueLayout,
    ) -> CubeTensor {
        attention::gradient(turned, table, output, log_sum_exp, gradient, sizes, layout)
    }

    fn llama_library_attention(
        query: CubeTensor,
        key: CubeTensor,
        value: CubeTensor,
        choice: LibraryChoice,
    ) -> (CubeTensor, CubeTensor, CubeTensor, CubeTensor, CubeTensor) {
        library::attention(query, key, value, choice)
    }

    fn llama_library_attention_gradient(
        query: CubeTensor,
        key: CubeTensor,
        value: CubeTensor,
        output: CubeTensor,
        log_sum_exp: CubeTensor,
        gradient: CubeTensor,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        library::attention_gradient(query, key, value, output, log_sum_exp, gradient)
    }

    fn llama_plain_product(lhs: CubeTensor, rhs: CubeTensor) -> CubeTensor {
        library::plain_product(lhs, rhs)
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

    fn llama_swiglu_naive(
        x: CubeTensor,
        gate_weight: CubeTensor,
        up_weight: CubeTensor,
        _products: LibraryChoice,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        let x = into_contiguous(x);
        let (gate_weight, up_weight) = (into_contiguous(gate_weight), into_contiguous(up_weight));
        let shape = naive_shape(&x, &gate_weight);
        let [y, gate, up] = [(); 3].map(|()| empty(&x, [shape.rows, shape.hidden], x.dtype));
        let buffers = swiglu_naive::Forward {
            x: &x.handle,
            gate_weight: &gate_weight.handle,
            up_weight: &up_weight.handle,
            gate: &gate.handle,
            up: &up.handle,
            y: &y.handle,
        };
        let block = swiglu_naive::SwigluNaiveBlock::for_device(&x.client);
        check(swiglu_naive::forward(
            &x.client,
            buffers,
            shape,
            element(x.dtype),
            &block,
        ));
        (y, gate, up)
    }

    fn llama_swiglu_naive_gradient(
        gate: CubeTensor,
        up: CubeTensor,
        gradient: CubeTensor,
    ) -> (CubeTensor, CubeTensor) {
        let [gate, up, gradient] = [gate, up, gradient].map(into_contiguous);
        let [rows, hidden] = matrix(&gate);
        let [gate_gradient, up_gradient] =
            [(); 2].map(|()| empty(&gate, [rows, hidden], gate.dtype));
        let block = swiglu::SwigluBlock::for_device(&gate.client);
        let buffers = swiglu::Backward {
            gate_up: swiglu::GateUp::Separate {
                gate: &gate.handle,
                up: &up.handle,
            },
            y_gradient: &gradient.handle,
            gradient: Some(swiglu::GateUp::Separate {
                gate: &gate_gradient.handle,
                up: &up_gradient.handle,
            }),
        };
        check(swiglu::backward(
            &gate.client,
            buffers,
            swiglu::Shape { rows, hidden },
            element(gate.dtype),
            &block,
        ));
        (gate_gradient, up_gradient)
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
