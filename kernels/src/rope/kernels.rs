//! The kernel, which runs on the device.

use cubecl::{ir::ElemType, prelude::*};

/// Each unit handles a vector. `turned` of the `stride` vectors of a token are rotated, `span` consecutive rotated
/// vectors have the same position, and a head has `head` vectors of `pairs` pairs.
#[cube(launch_unchecked)]
pub fn rope_turn<F: Float, N: Size>(
    x: &[Vector<F, N>],
    table: &[Vector<f32, N>],
    y: &mut [Vector<F, N>],
    count: u32,
    seq: u32,
    #[comptime] turned: usize,
    #[comptime] stride: usize,
    #[comptime] span: usize,
    #[comptime] head: usize,
    #[comptime] pairs: usize,
    #[comptime] inverse: bool,
    #[define(F)] _dtype: ElemType,
) {
    let unit = ABSOLUTE_POS;
    if unit >= count as usize {
        terminate!();
    }
    let place = unit % turned;
    let position = (unit / span) % seq as usize;
    let index = unit / turned * stride + place;
    let angles = table[position * head + place % head];
    let values = Vector::<f32, N>::cast_from(x[index]);
    let mut result = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for pair in 0..pairs {
        let (even, odd) = comptime!((2 * pair, 2 * pair + 1));
        let cosine = angles.extract(even);
        let sine = if comptime!(inverse) {
            -angles.extract(odd)
        } else {
            angles.extract(odd)
        };
        let (first, second) = (values.extract(even), values.extract(odd));
        result.insert(even, first * cosine - second * sine);
        result.insert(odd, first * sine + second * cosine);
    }
    y[index] = Vector::cast_from(result);
}
