//! Adds the parts of a product whose sum was divided among cubes.

use cubecl::{ir::ElemType, prelude::*};

/// Each unit adds one vector of every part, in their order.
#[cube(launch_unchecked)]
pub fn matmul_sum<O: Float, N: Size>(
    parts: &[Vector<f32, N>],
    output: &mut [Vector<O, N>],
    count: u32,
    #[comptime] number: usize,
    #[define(O)] _output_dtype: ElemType,
) {
    let unit = ABSOLUTE_POS;
    if unit >= count as usize {
        terminate!();
    }
    let mut sum = parts[unit];
    #[unroll]
    for part in 1..number {
        sum += parts[part * count as usize + unit];
    }
    output[unit] = Vector::cast_from(sum);
}
