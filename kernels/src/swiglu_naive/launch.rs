//! Buffers and launches on the host.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use tinyllama_kernel_catalog::block::CubeBlock;
use tinyllama_kernel_catalog::swiglu_naive::SwigluNaiveShape;

use super::NAME;
use super::kernels::swiglu_naive_forward;
use crate::{
    KernelError,
    launch::{CheckedBuffer, block_cubes, check_shape},
};

/// Computes both products and the activation in one launch. `x` is `[rows, width]`, weights are `[width, hidden]`, the
/// others are `[rows, hidden]`, all contiguous. `gate` and `up` are stored for the backward pass.
pub fn forward(
    client: &Client,
    [x, gate_weight, up_weight, gate, up, y]: [&Handle; 6],
    shape: SwigluNaiveShape,
    dtype: ElemType,
    block: &CubeBlock,
) -> Result<(), KernelError> {
    let SwigluNaiveShape {
        rows,
        width,
        hidden,
    } = shape;
    let buffer = |name, handle, dims: [usize; 2]| {
        let elements = check_shape(NAME, &dims, &[dtype])?;
        CheckedBuffer::new(NAME, name, handle, elements, dtype)
    };
    let x = buffer("x", x, [rows, width])?;
    let gate_weight = buffer("gate_weight", gate_weight, [width, hidden])?;
    let up_weight = buffer("up_weight", up_weight, [width, hidden])?;
    let gate = buffer("gate", gate, [rows, hidden])?;
    let up = buffer("up", up, [rows, hidden])?;
    let y = buffer("y", y, [rows, hidden])?;
    let (cubes, dim) = block_cubes(NAME, client, *block, rows * hidden)?;
    // SAFETY: the buffers match the shape, and the kernel stays within it.
    launch!(client, swiglu_naive_forward[cubes, dim]: [x gate_weight up_weight gate up y],
        (rows * hidden) as u32, width as u32, hidden as u32, dtype)
}
