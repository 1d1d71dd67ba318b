//! Buffers and launches on the host.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use super::NAME;
use super::kernels;
use crate::KernelError;
use crate::launch::{CheckedBuffer, check_elements, check_shape, cube_count, vector_size};

/// Most units of a cube: rows of 512 elements of f32 keep them all busy.
const MOST_UNITS: usize = 128;

/// Computes the gradient `[vocabulary, width]` of a table whose rows `tokens` were looked up, in one launch. `gradient` is
/// `[tokens, width]`, all contiguous.
///
/// # Errors
/// Refuses buffers that are too short, and types without code.
pub fn gradient(
    client: &Client,
    [gradient, tokens, table_gradient]: [&Handle; 3],
    [count, vocabulary, width]: [usize; 3],
    [dtype, token_dtype]: [ElemType; 2],
) -> Result<(), KernelError> {
    if !matches!(token_dtype, ElemType::Int(_) | ElemType::UInt(_)) {
        let reason = format!("{token_dtype:?} for tokens");
        return Err(KernelError::ElementType(NAME, reason));
    }
    let elements = check_shape(NAME, &[count, width], &[dtype])?;
    let table = check_elements(NAME, &[vocabulary, width])?;
    let gradient = CheckedBuffer::new(NAME, "gradient", gradient, elements, dtype)?;
    let tokens = CheckedBuffer::new(NAME, "tokens", tokens, count, token_dtype)?;
    let table_gradient = CheckedBuffer::new(NAME, "table_gradient", table_gradient, table, dtype)?;
    let vector = vector_size(client, dtype, width, &[gradient, table_gradient]);
    let limit = client.properties().hardware.max_units_per_cube as usize;
    let units = MOST_UNITS.min(limit);
    let (cubes, dim) = (
        cube_count(client, vocabulary),
        CubeDim::new_1d(units as u32),
    );
    // SAFETY: the buffers match the shape, and the kernel stays within `count` tokens and `vocabulary` rows.
    launch!(client, kernels::embedding_gradient[cubes, dim], vector:
        [gradient (tokens.argument(1)) table_gradient],
        count as u32, vocabulary as u32, width / vector, units, dtype, token_dtype)
}
