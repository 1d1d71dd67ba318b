//! The host side: block sizes, buffers, launches.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use super::{KERNEL, Shape, swiglu_naive_forward};
use crate::{
    KernelError,
    launch::{
        buffer, check_buffer, check_elements, check_float, check_units, cube_count, units_per_cube,
    },
};

/// Block size; the cube's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SwigluNaiveBlock {
    pub units_per_cube: usize,
}

impl SwigluNaiveBlock {
    /// The block size for this device.
    pub fn for_device(client: &Client) -> SwigluNaiveBlock {
        SwigluNaiveBlock {
            units_per_cube: units_per_cube(KERNEL, client),
        }
    }
}

/// Contiguous buffers of the forward pass: `x` is `[rows, width]`, weights are `[width, hidden]`, the others
/// `[rows, hidden]`. `gate` and `up` are kept for the backward pass.
pub struct Forward<'a> {
    pub x: &'a Handle,
    pub gate_weight: &'a Handle,
    pub up_weight: &'a Handle,
    pub gate: &'a Handle,
    pub up: &'a Handle,
    pub y: &'a Handle,
}

/// Both products and the activation: one launch.
pub fn forward(
    client: &Client,
    buffers: Forward<'_>,
    shape: Shape,
    dtype: ElemType,
    block: &SwigluNaiveBlock,
) -> Result<(), KernelError> {
    let sizes = check_shape(client, shape, dtype, block)?;
    for (name, handle, elements) in [
        ("x", buffers.x, sizes.x),
        ("gate_weight", buffers.gate_weight, sizes.weight),
        ("up_weight", buffers.up_weight, sizes.weight),
        ("gate", buffers.gate, sizes.y),
        ("up", buffers.up, sizes.y),
        ("y", buffers.y, sizes.y),
    ] {
        check_buffer(KERNEL, name, handle, elements, dtype)?;
    }
    // SAFETY: the lengths were checked above, and the kernel stays within the shape.
    unsafe {
        swiglu_naive_forward::launch_unchecked(
            client,
            cube_count(client, sizes.y.div_ceil(block.units_per_cube)),
            CubeDim::new_1d(block.units_per_cube as u32),
            buffer(buffers.x, sizes.x, 1),
            buffer(buffers.gate_weight, sizes.weight, 1),
            buffer(buffers.up_weight, sizes.weight, 1),
            buffer(buffers.gate, sizes.y, 1),
            buffer(buffers.up, sizes.y, 1),
            buffer(buffers.y, sizes.y, 1),
            sizes.y as u32,
            shape.width as u32,
            shape.hidden as u32,
            dtype,
        );
    }
    Ok(())
}

/// Elements of x, of a weight and of y.
struct Sizes {
    x: usize,
    weight: usize,
    y: usize,
}

fn check_shape(
    client: &Client,
    shape: Shape,
    dtype: ElemType,
    block: &SwigluNaiveBlock,
) -> Result<Sizes, KernelError> {
    check_float(KERNEL, dtype)?;
    check_units(KERNEL, client, block.units_per_cube)?;
    if shape.rows == 0 || shape.width == 0 || shape.hidden == 0 {
        let reason = format!("{shape:?} has nothing to multiply");
        return Err(KernelError::Shape {
            kernel: KERNEL,
            reason,
        });
    }
    Ok(Sizes {
        x: check_elements(KERNEL, &[shape.rows, shape.width])?,
        weight: check_elements(KERNEL, &[shape.width, shape.hidden])?,
        y: check_elements(KERNEL, &[shape.rows, shape.hidden])?,
    })
}
