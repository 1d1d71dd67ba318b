//! The host side: block sizes, buffers, launches.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use super::{KERNEL, Layout, Shape, rope_turn};
use crate::{
    KernelError,
    launch::{
        F32, buffer, check_buffer, check_elements, check_float, check_units, cube_count,
        units_per_cube, vector_size,
    },
};

/// Block size; the cube's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RopeBlock {
    pub units_per_cube: usize,
}

impl RopeBlock {
    /// The block size for this device.
    pub fn for_device(client: &Client) -> RopeBlock {
        RopeBlock {
            units_per_cube: units_per_cube(KERNEL, client),
        }
    }
}

/// Contiguous buffers: `x` and `y` as [`Shape`] says, `table` f32 from [`table`].
pub struct Buffers<'a> {
    pub x: &'a Handle,
    pub table: &'a Handle,
    /// Where the result goes; `None` turns x in place. Heads that are not turned are not written.
    pub y: Option<&'a Handle>,
}

/// Turns the heads, backwards with `inverse`: one launch.
pub fn turn(
    client: &Client,
    buffers: Buffers<'_>,
    shape: Shape,
    inverse: bool,
    dtype: ElemType,
    block: &RopeBlock,
) -> Result<(), KernelError> {
    let elements = check_shape(shape, dtype)?;
    let y = buffers.y.unwrap_or(buffers.x);
    check_buffer(KERNEL, "x", buffers.x, elements, dtype)?;
    check_buffer(
        KERNEL,
        "table",
        buffers.table,
        shape.seq * shape.head_dim,
        F32,
    )?;
    check_buffer(KERNEL, "y", y, elements, dtype)?;
    check_units(KERNEL, client, block.units_per_cube)?;
    let vector = vector_size(
        client,
        dtype,
        shape.head_dim,
        &[(buffers.x, dtype), (buffers.table, F32), (y, dtype)],
    );
    if vector < 2 {
        return Err(KernelError::Shape {
            kernel: KERNEL,
            reason: "x, y and the table must start at a whole pair".to_string(),
        });
    }
    let head = shape.head_dim / vector;
    let (turned, stride, span) = match shape.layout {
        Layout::TokenMajor => (shape.turned * head, shape.heads * head, shape.turned * head),
        Layout::HeadMajor => (
            shape.turned * shape.seq * head,
            shape.heads * shape.seq * head,
            head,
        ),
    };
    let count = shape.batch * shape.seq * shape.turned * head;

    // SAFETY: the lengths were checked above; `count` vectors spread by `turned` and `stride` stay within them.
    unsafe {
        rope_turn::launch_unchecked(
            client,
            cube_count(client, count.div_ceil(block.units_per_cube)),
            CubeDim::new_1d(block.units_per_cube as u32),
            vector,
            buffer(buffers.x, elements, vector),
            buffer(buffers.table, shape.seq * shape.head_dim, vector),
            match buffers.y {
                Some(y) => buffer(y, elements, vector),
                None => BufferArg::alias(0, elements / vector),
            },
            count as u32,
            shape.seq as u32,
            turned,
            stride,
            span,
            head,
            vector / 2,
            inverse,
            dtype,
        );
    }
    Ok(())
}

fn check_shape(shape: Shape, dtype: ElemType) -> Result<usize, KernelError> {
    check_float(KERNEL, dtype)?;
    let refuse = |reason: String| {
        Err(KernelError::Shape {
            kernel: KERNEL,
            reason,
        })
    };
    if shape.elements().contains(&0) || shape.turned == 0 {
        return refuse(format!("{shape:?} has nothing to turn"));
    }
    if shape.turned > shape.heads {
        return refuse(format!(
            "{} heads to turn, but only {} are there",
            shape.turned, shape.heads
        ));
    }
    if !shape.head_dim.is_multiple_of(2) {
        return refuse(format!(
            "head_dim {} is odd; features are turned in pairs",
            shape.head_dim
        ));
    }
    check_elements(KERNEL, &shape.elements())
}
