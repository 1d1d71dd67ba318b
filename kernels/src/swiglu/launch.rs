//! Buffers and launches on the host.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use tinyllama_kernel_catalog::block::CubeBlock;
use tinyllama_kernel_catalog::swiglu::SwigluShape;

use super::NAME;
use super::kernels;
use crate::{
    KernelError,
    launch::{CheckedBuffer, block_cubes, check_shape, vector_size},
};

/// Computes `y = silu(gate) · up` in one launch. `gate_up` is `[rows, 2 · hidden]`, with the gate half first in every row;
/// `y` is `[rows, hidden]`.
pub fn forward(
    client: &Client,
    gate_up: &Handle,
    y: &Handle,
    shape: SwigluShape,
    dtype: ElemType,
    block: &CubeBlock,
) -> Result<(), KernelError> {
    let elements = check_sizes(shape, dtype)?;
    let gate_up = CheckedBuffer::new(NAME, "gate_up", gate_up, 2 * elements, dtype)?;
    let y = CheckedBuffer::new(NAME, "y", y, elements, dtype)?;
    let vector = vector_size(client, dtype, shape.hidden, &[gate_up, y]);
    let (cubes, dim) = block_cubes(NAME, client, *block, elements / vector)?;
    let up = gate_up.alias(0, vector);
    let vectors = shape.hidden / vector;
    // SAFETY: the buffers match the shape, and the kernel stays within `count` vectors of each.
    launch!(client, kernels::swiglu_forward[cubes, dim], vector: [gate_up (up) y],
        (elements / vector) as u32, vectors, dtype)
}

/// Computes the gradients of gate and up in one launch, side by side as in `gate_up`.
pub fn backward(
    client: &Client,
    [gate_up, y_gradient, gradient]: [&Handle; 3],
    shape: SwigluShape,
    dtype: ElemType,
    block: &CubeBlock,
) -> Result<(), KernelError> {
    let elements = check_sizes(shape, dtype)?;
    let gate_up = CheckedBuffer::new(NAME, "gate_up", gate_up, 2 * elements, dtype)?;
    let y_gradient = CheckedBuffer::new(NAME, "y_gradient", y_gradient, elements, dtype)?;
    let gradient = CheckedBuffer::new(NAME, "gradient", gradient, 2 * elements, dtype)?;
    let vector = vector_size(
        client,
        dtype,
        shape.hidden,
        &[gate_up, y_gradient, gradient],
    );
    let (cubes, dim) = block_cubes(NAME, client, *block, elements / vector)?;
    // The gradient is buffer number 2, because the halves of gate_up are one buffer.
    let (up, up_gradient) = (gate_up.alias(0, vector), gradient.alias(2, vector));
    let vectors = shape.hidden / vector;
    // SAFETY: the buffers match the shape, and the kernel stays within `count` vectors of each.
    launch!(client, kernels::swiglu_backward[cubes, dim], vector: [gate_up (up) y_gradient gradient (up_gradient)],
        (elements / vector) as u32, vectors, 2 * vectors, vectors, dtype)
}

/// Computes the gradients of gate and up in one launch, where each has a buffer `[rows, hidden]` of its own.
pub fn backward_apart(
    client: &Client,
    [gate, up, y_gradient]: [&Handle; 3],
    [gate_gradient, up_gradient]: [&Handle; 2],
    shape: SwigluShape,
    dtype: ElemType,
    block: &CubeBlock,
) -> Result<(), KernelError> {
    let elements = check_sizes(shape, dtype)?;
    let bind = |name, buffer| CheckedBuffer::new(NAME, name, buffer, elements, dtype);
    let (gate, up) = (bind("gate", gate)?, bind("up", up)?);
    let y_gradient = bind("y_gradient", y_gradient)?;
    let gate_gradient = bind("gate_gradient", gate_gradient)?;
    let up_gradient = bind("up_gradient", up_gradient)?;
    let all = [gate, up, y_gradient, gate_gradient, up_gradient];
    let vector = vector_size(client, dtype, shape.hidden, &all);
    let (cubes, dim) = block_cubes(NAME, client, *block, elements / vector)?;
    let vectors = shape.hidden / vector;
    // SAFETY: the buffers match the shape, and the kernel stays within `count` vectors of each.
    launch!(client, kernels::swiglu_backward[cubes, dim], vector: [gate up y_gradient gate_gradient up_gradient],
        (elements / vector) as u32, vectors, vectors, 0, dtype)
}

fn check_sizes(shape: SwigluShape, dtype: ElemType) -> Result<usize, KernelError> {
    check_shape(NAME, &[2, shape.rows, shape.hidden], &[dtype])?;
    Ok(shape.rows * shape.hidden)
}
