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

/// Computes `y = silu(gate) · up` in one launch. `gate_up` is one buffer `[rows, 2 · hidden]`, with the gate half first
/// in every row. Or it is two buffers, gate and up, `[rows, hidden]` each, like `y`.
pub fn forward(
    client: &Client,
    gate_up: &[Handle],
    y: &Handle,
    shape: SwigluShape,
    dtype: ElemType,
    block: &CubeBlock,
) -> Result<(), KernelError> {
    let elements = check_sizes(shape, dtype)?;
    let gate_up = bind(gate_up, elements, dtype)?;
    let y = CheckedBuffer::new(NAME, "y", y, elements, dtype)?;
    let vector = vector_size(client, dtype, shape.hidden, &[&gate_up[..], &[y]].concat());
    let (cubes, dim) = block_cubes(NAME, client, *block, elements / vector)?;
    let [gate, up] = arguments(&gate_up, 0, vector);
    let vectors = shape.hidden / vector;
    let (stride, shift) = rows(&gate_up, vectors);
    // SAFETY: the buffers match the shape, and the kernel stays within `count` vectors of each.
    launch!(client, kernels::swiglu_forward[cubes, dim], vector: [(gate) (up) y],
        (elements / vector) as u32, vectors, stride, shift, dtype)
}

/// Computes the gradients of gate and up in one launch, into `gradient` in the form of `gate_up`. Without it they
/// overwrite gate and up.
pub fn backward(
    client: &Client,
    gate_up: &[Handle],
    y_gradient: &Handle,
    gradient: Option<&[Handle]>,
    shape: SwigluShape,
    dtype: ElemType,
    block: &CubeBlock,
) -> Result<(), KernelError> {
    let elements = check_sizes(shape, dtype)?;
    let in_place = gradient.is_none();
    let gradient = bind(gradient.unwrap_or(gate_up), elements, dtype)?;
    let gate_up = bind(gate_up, elements, dtype)?;
    let y_gradient = CheckedBuffer::new(NAME, "y_gradient", y_gradient, elements, dtype)?;
    if gradient.len() != gate_up.len() {
        return Err(KernelError::Shape(
            NAME,
            "gate and up are packed and their gradients separate, or the other way round"
                .to_string(),
        ));
    }
    let all = [&gate_up[..], &gradient, &[y_gradient]].concat();
    let vector = vector_size(client, dtype, shape.hidden, &all);
    let (cubes, dim) = block_cubes(NAME, client, *block, elements / vector)?;
    let [gate, up] = arguments(&gate_up, 0, vector);
    let [gate_gradient, up_gradient] = match in_place {
        // The gradients come after gate_up and y_gradient; a packed gate_up is one buffer.
        false => arguments(&gradient, 2, vector),
        true => [0, gate_up.len() - 1].map(|at| gate_up[at].alias(at, vector)),
    };
    let vectors = shape.hidden / vector;
    let (stride, shift) = rows(&gate_up, vectors);
    // SAFETY: the buffers match the shape, and the kernel stays within `count` vectors of each.
    launch!(client, kernels::swiglu_backward[cubes, dim], vector:
        [(gate) (up) y_gradient (gate_gradient) (up_gradient)],
        (elements / vector) as u32, vectors, stride, shift, dtype)
}

/// Checks gate and up, in one buffer or in two.
fn bind(
    gate_up: &[Handle],
    elements: usize,
    dtype: ElemType,
) -> Result<Vec<CheckedBuffer<'_>>, KernelError> {
    match gate_up {
        [packed] => Ok(vec![CheckedBuffer::new(
            NAME,
            "gate_up",
            packed,
            2 * elements,
            dtype,
        )?]),
        [gate, up] => Ok(vec![
            CheckedBuffer::new(NAME, "gate", gate, elements, dtype)?,
            CheckedBuffer::new(NAME, "up", up, elements, dtype)?,
        ]),
        other => Err(KernelError::Shape(
            NAME,
            format!(
                "gate and up lie in one buffer or in two, not in {}",
                other.len()
            ),
        )),
    }
}

/// Returns the distance of rows, and of up from gate within its buffer, if a half has `vectors` vectors.
fn rows(gate_up: &[CheckedBuffer<'_>], vectors: usize) -> (usize, usize) {
    match gate_up.len() {
        1 => (2 * vectors, vectors),
        _ => (vectors, 0),
    }
}

/// Returns the two kernel arguments. A packed buffer is bound once, as the kernel's buffer number `first`, and up
/// refers to it, because some runtimes refuse to bind one buffer twice for writing.
fn arguments(gate_up: &[CheckedBuffer<'_>], first: usize, vector: VectorSize) -> [BufferArg; 2] {
    let up = match gate_up {
        [packed] => packed.alias(first, vector),
        _ => gate_up[1].argument(vector),
    };
    [gate_up[0].argument(vector), up]
}

fn check_sizes(shape: SwigluShape, dtype: ElemType) -> Result<usize, KernelError> {
    check_shape(NAME, &[2, shape.rows, shape.hidden], &[dtype])?;
    Ok(shape.rows * shape.hidden)
}
