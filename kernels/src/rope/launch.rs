//! Buffers and launches on the host.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use tinyllama_kernel_catalog::block::CubeBlock;
use tinyllama_kernel_catalog::rope::{RopeLayout, RopeShape};

use super::NAME;
use super::kernels::rope_turn;
use crate::{
    KernelError,
    launch::{CheckedBuffer, F32, block_cubes, check_shape, vector_size},
};

/// Rotates the heads, backwards with `inverse`, in one launch. `x` and `y` are contiguous, as [`Shape`] says, and
/// `table` is f32 from [`super::table`]. Without `y`, x is rotated in place. Heads that are not rotated are not
/// written.
pub fn turn(
    client: &Client,
    [x, table]: [&Handle; 2],
    y: Option<&Handle>,
    shape: RopeShape,
    inverse: bool,
    dtype: ElemType,
    block: &CubeBlock,
) -> Result<(), KernelError> {
    let elements = check_sizes(shape, dtype)?;
    let in_place = y.is_none();
    let y = CheckedBuffer::new(NAME, "y", y.unwrap_or(x), elements, dtype)?;
    let x = CheckedBuffer::new(NAME, "x", x, elements, dtype)?;
    let angles = shape.seq * shape.head_dim;
    let table = CheckedBuffer::new(NAME, "table", table, angles, F32)?;
    let vector = vector_size(client, dtype, shape.head_dim, &[x, table, y]);
    if vector < 2 {
        return Err(KernelError::Shape(
            NAME,
            "x, y and the table must start at a whole pair".to_string(),
        ));
    }
    let head = shape.head_dim / vector;
    let (turned, stride, span) = match shape.layout {
        RopeLayout::TokenMajor => (shape.turned * head, shape.heads * head, shape.turned * head),
        RopeLayout::HeadMajor => (
            shape.turned * shape.seq * head,
            shape.heads * shape.seq * head,
            head,
        ),
    };
    let count = shape.batch * shape.seq * shape.turned * head;
    let (cubes, dim) = block_cubes(NAME, client, *block, count)?;
    let y = y.or_alias(!in_place, 0, vector);
    // SAFETY: the buffers match the shape; `count` vectors spread by `turned` and `stride` stay within them.
    launch!(client, rope_turn[cubes, dim], vector: [x table (y)],
        count as u32, shape.seq as u32, turned, stride, span, head, vector / 2, inverse, dtype)
}

fn check_sizes(shape: RopeShape, dtype: ElemType) -> Result<usize, KernelError> {
    let elements = check_shape(NAME, &shape.elements(), &[dtype])?;
    let reason = if !(1..=shape.heads).contains(&shape.turned) {
        format!("{} heads of {} to turn", shape.turned, shape.heads)
    } else if !shape.head_dim.is_multiple_of(2) {
        format!(
            "head_dim {} is odd; features are turned in pairs",
            shape.head_dim
        )
    } else {
        return Ok(elements);
    };
    Err(KernelError::Shape(NAME, reason))
}
