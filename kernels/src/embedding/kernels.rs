//! The kernel, which runs on the device.

use cubecl::{ir::ElemType, prelude::*};

/// Tokens that a unit compares at a time, one for each bit of a mark.
pub const TOKENS_PER_UNIT: usize = 32;

/// A cube computes a row of the table's gradient: the sum of the rows of `gradient` whose token it is, in the same
/// order every time. Each unit compares some tokens and marks its hits, then all units add the rows of every mark.
#[cube(launch_unchecked)]
pub fn embedding_gradient<F: Float, I: Int, N: Size>(
    gradient: &[Vector<F, N>],
    tokens: &[I],
    table_gradient: &mut [Vector<F, N>],
    count: u32,
    rows: u32,
    #[comptime] vectors: usize,
    #[comptime] units: usize,
    #[define(F)] _dtype: ElemType,
    #[define(I)] _token_dtype: ElemType,
) {
    let row = CUBE_POS;
    if row >= rows as usize {
        terminate!();
    }
    let steps = comptime!(vectors.div_ceil(units));
    let mut sums = Array::<Vector<f32, N>>::new(steps);
    #[unroll]
    for step in 0..steps {
        sums[step] = Vector::new(0.0f32);
    }
    let mut marks = Shared::<[u32]>::new_slice(units);
    for first in range_stepped(0usize, count as usize, comptime!(units * TOKENS_PER_UNIT)) {
        let mut mark = 0u32;
        #[unroll]
        for bit in 0..TOKENS_PER_UNIT {
            let token = first + bit * units + UNIT_POS as usize;
            if token < count as usize && u32::cast_from(tokens[token]) as usize == row {
                mark |= comptime!(1u32 << bit);
            }
        }
        marks[UNIT_POS as usize] = mark;
        sync_cube();
        for unit in 0..units {
            let mut rest = marks[unit];
            while rest != 0u32 {
                let token = first + rest.trailing_zeros() as usize * units + unit;
                #[unroll]
                for step in 0..steps {
                    let place = UNIT_POS as usize + step * units;
                    if comptime!((step + 1) * units <= vectors) || place < vectors {
                        sums[step] += Vector::cast_from(gradient[token * vectors + place]);
                    }
                }
                rest &= rest - 1u32;
            }
        }
        sync_cube();
    }
    #[unroll]
    for step in 0..steps {
        let place = UNIT_POS as usize + step * units;
        if comptime!((step + 1) * units <= vectors) || place < vectors {
            table_gradient[row * vectors + place] = Vector::cast_from(sums[step]);
        }
    }
}
