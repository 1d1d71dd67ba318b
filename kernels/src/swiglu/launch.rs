//! The host side: block sizes, buffers, launches.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use super::{KERNEL, Shape, swiglu_backward, swiglu_forward};
use crate::{
    KernelError,
    launch::{
        buffer, check_buffer, check_elements, check_float, check_units, cube_count, units_per_cube,
        vector_size,
    },
};

/// Block size; the cube's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SwigluBlock {
    pub units_per_cube: usize,
}

impl SwigluBlock {
    /// The block size for this device.
    pub fn for_device(client: &Client) -> SwigluBlock {
        SwigluBlock {
            units_per_cube: units_per_cube(KERNEL, client),
        }
    }
}

/// Where gate and up lie; both contiguous.
#[derive(Clone, Copy)]
pub enum GateUp<'a> {
    /// One buffer `[rows, 2 · hidden]`: in every row the gate half first, then the up half.
    Packed(&'a Handle),
    /// Two buffers `[rows, hidden]`.
    Separate { gate: &'a Handle, up: &'a Handle },
}

/// Buffers of the forward pass; `y` is `[rows, hidden]`.
pub struct Forward<'a> {
    pub gate_up: GateUp<'a>,
    pub y: &'a Handle,
}

/// Buffers of the backward pass.
pub struct Backward<'a> {
    pub gate_up: GateUp<'a>,
    pub y_gradient: &'a Handle,
    /// Where the gradients go, in the form of `gate_up`; `None` overwrites gate and up with them.
    pub gradient: Option<GateUp<'a>>,
}

/// `y = silu(gate) · up`: one launch.
pub fn forward(
    client: &Client,
    buffers: Forward<'_>,
    shape: Shape,
    dtype: ElemType,
    block: &SwigluBlock,
) -> Result<(), KernelError> {
    let elements = check_launch(client, shape, dtype, block)?;
    buffers.gate_up.check(elements, dtype)?;
    check_buffer(KERNEL, "y", buffers.y, elements, dtype)?;
    let mut aligned = buffers.gate_up.handles(dtype);
    aligned.push((buffers.y, dtype));
    let vector = vector_size(client, dtype, shape.hidden, &aligned);
    let vectors = shape.hidden / vector;
    let (stride, shift) = buffers.gate_up.rows(vectors);

    // SAFETY: the lengths were checked above, and the kernel stays within `count` vectors of each.
    unsafe {
        let [gate, up] = buffers.gate_up.arguments(0, elements, vector);
        swiglu_forward::launch_unchecked(
            client,
            cube_count(client, (elements / vector).div_ceil(block.units_per_cube)),
            CubeDim::new_1d(block.units_per_cube as u32),
            vector,
            gate,
            up,
            buffer(buffers.y, elements, vector),
            (elements / vector) as u32,
            vectors,
            stride,
            shift,
            dtype,
        );
    }
    Ok(())
}

/// Gradients of gate and up: one launch.
pub fn backward(
    client: &Client,
    buffers: Backward<'_>,
    shape: Shape,
    dtype: ElemType,
    block: &SwigluBlock,
) -> Result<(), KernelError> {
    let elements = check_launch(client, shape, dtype, block)?;
    let gradient = buffers.gradient.unwrap_or(buffers.gate_up);
    buffers.gate_up.check(elements, dtype)?;
    gradient.check(elements, dtype)?;
    check_buffer(KERNEL, "y_gradient", buffers.y_gradient, elements, dtype)?;
    let mut aligned = buffers.gate_up.handles(dtype);
    aligned.extend(gradient.handles(dtype));
    aligned.push((buffers.y_gradient, dtype));
    let vector = vector_size(client, dtype, shape.hidden, &aligned);
    let vectors = shape.hidden / vector;
    let (stride, shift) = buffers.gate_up.rows(vectors);
    if gradient.rows(vectors) != (stride, shift) {
        return Err(KernelError::Shape {
            kernel: KERNEL,
            reason: "gate and up are packed and their gradients separate, or the other way round"
                .to_string(),
        });
    }

    // SAFETY: the lengths were checked above, and the kernel stays within `count` vectors of each.
    unsafe {
        let [gate, up] = buffers.gate_up.arguments(0, elements, vector);
        let [gate_gradient, up_gradient] = match buffers.gradient {
            // Behind gate_up and y_gradient; a packed gate_up is one buffer.
            Some(gradient) => gradient.arguments(2, elements, vector),
            None => buffers.gate_up.aliases(elements, vector),
        };
        swiglu_backward::launch_unchecked(
            client,
            cube_count(client, (elements / vector).div_ceil(block.units_per_cube)),
            CubeDim::new_1d(block.units_per_cube as u32),
            vector,
            gate,
            up,
            buffer(buffers.y_gradient, elements, vector),
            gate_gradient,
            up_gradient,
            (elements / vector) as u32,
            vectors,
            stride,
            shift,
            dtype,
        );
    }
    Ok(())
}

impl<'a> GateUp<'a> {
    fn check(&self, elements: usize, dtype: ElemType) -> Result<(), KernelError> {
        match self {
            GateUp::Packed(handle) => check_buffer(KERNEL, "gate_up", handle, 2 * elements, dtype),
            GateUp::Separate { gate, up } => {
                check_buffer(KERNEL, "gate", gate, elements, dtype)?;
                check_buffer(KERNEL, "up", up, elements, dtype)
            }
        }
    }

    fn handles(&self, dtype: ElemType) -> Vec<(&'a Handle, ElemType)> {
        match *self {
            GateUp::Packed(handle) => vec![(handle, dtype)],
            GateUp::Separate { gate, up } => vec![(gate, dtype), (up, dtype)],
        }
    }

    /// Distance of rows, and of up from gate within its buffer, where a half has `vectors` vectors.
    fn rows(&self, vectors: usize) -> (usize, usize) {
        match self {
            GateUp::Packed(_) => (2 * vectors, vectors),
            GateUp::Separate { .. } => (vectors, 0),
        }
    }

    /// The two kernel arguments. A packed buffer is bound once, as the kernel's buffer number `first`, and up refers to
    /// it: binding one buffer twice for writing is an error on some runtimes.
    ///
    /// # Safety
    /// The buffers must hold what [`GateUp::check`] asks for.
    unsafe fn arguments(
        &self,
        first: usize,
        elements: usize,
        vector: VectorSize,
    ) -> [BufferArg; 2] {
        match self {
            GateUp::Packed(handle) => [
                unsafe { buffer(handle, 2 * elements, vector) },
                BufferArg::alias(first, 2 * elements / vector),
            ],
            GateUp::Separate { gate, up } => unsafe {
                [buffer(gate, elements, vector), buffer(up, elements, vector)]
            },
        }
    }

    /// The two kernel arguments where the kernel's first buffers are already gate and up.
    fn aliases(&self, elements: usize, vector: VectorSize) -> [BufferArg; 2] {
        match self {
            GateUp::Packed(_) => [0, 0].map(|at| BufferArg::alias(at, 2 * elements / vector)),
            GateUp::Separate { .. } => [0, 1].map(|at| BufferArg::alias(at, elements / vector)),
        }
    }
}

fn check_launch(
    client: &Client,
    shape: Shape,
    dtype: ElemType,
    block: &SwigluBlock,
) -> Result<usize, KernelError> {
    check_float(KERNEL, dtype)?;
    check_units(KERNEL, client, block.units_per_cube)?;
    if shape.rows == 0 || shape.hidden == 0 {
        let reason = format!("{shape:?} has nothing to activate");
        return Err(KernelError::Shape {
            kernel: KERNEL,
            reason,
        });
    }
    check_elements(KERNEL, &[2, shape.rows, shape.hidden])?;
    Ok(shape.rows * shape.hidden)
}
