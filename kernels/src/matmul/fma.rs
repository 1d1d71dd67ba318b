//! The product by multiply-adds of single units, on any device. It accumulates in f32 and rounds nothing else.

use cubecl::{ir::ElemType, prelude::*};

use super::tile::{DepthSteps, OperandPlace, OperandTile, OutputPlace, fetch, put};

/// A cube of `units_y` by `units_x` units, each of which computes `rows` by `columns` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FmaTiling {
    pub units_y: usize,
    pub units_x: usize,
    pub rows: usize,
    pub columns: usize,
    pub left: OperandTile,
    pub right: OperandTile,
    /// Elements of a vector of the result.
    pub output_width: usize,
}

impl FmaTiling {
    pub const fn units(self) -> usize {
        self.units_y * self.units_x
    }

    /// Returns whether tiles may reach beyond the result.
    const fn checked(self) -> bool {
        self.left.checked || self.right.checked
    }
}

/// Cube `(x, y, z)` computes tile `x` of columns and tile `y` of rows over part `z` of the sum. While the units multiply one
/// stage, the next one is on its way from memory into registers.
#[cube(launch_unchecked)]
pub fn matmul_fma<E: Float, O: Float, N: Size, P: Size>(
    left: &[Vector<E, N>],
    right: &[Vector<E, N>],
    output: &mut [Vector<O, P>],
    left_at: OperandPlace,
    right_at: OperandPlace,
    output_at: OutputPlace,
    steps: DepthSteps,
    #[comptime] tiling: FmaTiling,
    #[define(E)] _dtype: ElemType,
    #[define(O)] _output_dtype: ElemType,
) {
    let units = comptime!(tiling.units());
    let depth = comptime!(tiling.left.depth);
    let x = UNIT_POS as usize % tiling.units_x;
    let y = UNIT_POS as usize / tiling.units_x;
    let first_row = CUBE_POS_Y as usize * comptime!(tiling.left.side);
    let first_column = CUBE_POS_X as usize * comptime!(tiling.right.side);
    let first = CUBE_POS_Z as usize * steps.part;
    let end = min(first + steps.part, steps.all);

    let left_size = comptime!(tiling.left.size());
    let right_size = comptime!(tiling.right.size());
    let mut left_stages = Shared::<[Vector<f32, N>]>::new_slice(comptime!(2 * left_size));
    let mut right_stages = Shared::<[Vector<f32, N>]>::new_slice(comptime!(2 * right_size));
    let mut left_share = Array::<Vector<E, N>>::new(comptime!(tiling.left.share(units)));
    let mut right_share = Array::<Vector<E, N>>::new(comptime!(tiling.right.share(units)));

    let mut sums = Array::<f32>::new(comptime!(tiling.rows * tiling.columns));
    #[unroll]
    for sum in 0..comptime!(tiling.rows * tiling.columns) {
        sums[sum] = 0.0f32;
    }

    fetch::<E, N>(
        left,
        &mut left_share,
        left_at,
        first_row,
        first * depth,
        tiling.left,
        units,
    );
    fetch::<E, N>(
        right,
        &mut right_share,
        right_at,
        first_column,
        first * depth,
        tiling.right,
        units,
    );
    put::<E, f32, N>(&mut left_stages, &left_share, 0usize, tiling.left, units);
    put::<E, f32, N>(&mut right_stages, &right_share, 0usize, tiling.right, units);
    sync_cube();
    for step in first..end {
        let here = (step - first) % 2;
        if step + 1 < end {
            let next = (step + 1) * depth;
            fetch::<E, N>(
                left,
                &mut left_share,
                left_at,
                first_row,
                next,
                tiling.left,
                units,
            );
            fetch::<E, N>(
                right,
                &mut right_share,
                right_at,
                first_column,
                next,
                tiling.right,
                units,
            );
        }
        for block in 0..comptime!(depth / tiling.left.width) {
            let mut lefts = Array::<f32>::new(comptime!(tiling.rows * tiling.left.width));
            let mut rights = Array::<f32>::new(comptime!(tiling.columns * tiling.left.width));
            take::<N>(
                &left_stages,
                &mut lefts,
                here * left_size,
                block,
                y,
                tiling.left,
                tiling.rows,
                tiling.units_y,
            );
            take::<N>(
                &right_stages,
                &mut rights,
                here * right_size,
                block,
                x,
                tiling.right,
                tiling.columns,
                tiling.units_x,
            );
            #[unroll]
            for e in 0..tiling.left.width {
                #[unroll]
                for i in 0..tiling.rows {
                    #[unroll]
                    for j in 0..tiling.columns {
                        let at = i * tiling.columns + j;
                        sums[at] = fma(
                            lefts[i * tiling.left.width + e],
                            rights[j * tiling.left.width + e],
                            sums[at],
                        );
                    }
                }
            }
        }
        if step + 1 < end {
            let there = 1 - here;
            put::<E, f32, N>(
                &mut left_stages,
                &left_share,
                there * left_size,
                tiling.left,
                units,
            );
            put::<E, f32, N>(
                &mut right_stages,
                &right_share,
                there * right_size,
                tiling.right,
                units,
            );
        }
        sync_cube();
    }

    let start = CUBE_POS_Z as usize * output_at.part;
    let width = tiling.output_width;
    #[unroll]
    for i in 0..tiling.rows {
        let row = first_row + position(i, y, tiling.left, tiling.units_y);
        #[unroll]
        for group in 0..comptime!(tiling.columns / width) {
            let j = group * width;
            let column = first_column + position(j, x, tiling.right, tiling.units_x);
            let mut value = Vector::<O, P>::empty();
            #[unroll]
            for e in 0..width {
                value.insert(e, O::cast_from(sums[i * tiling.columns + j + e]));
            }
            if comptime!(tiling.checked()) {
                if row < output_at.rows && column < output_at.columns {
                    output[(start + row * output_at.columns + column) / width] = value;
                }
            } else {
                output[(start + row * output_at.columns + column) / width] = value;
            }
        }
    }
}

/// Reads `count` rows (or columns) of this unit, `width` elements of the sum each: `values[i * width + e]`.
#[cube]
fn take<N: Size>(
    stages: &Shared<[Vector<f32, N>]>,
    values: &mut Array<f32>,
    start: usize,
    block: usize,
    unit: usize,
    #[comptime] tile: OperandTile,
    #[comptime] count: usize,
    #[comptime] units: usize,
) {
    if comptime!(tile.depth_adjacent) {
        #[unroll]
        for i in 0..count {
            let vector = stages[start + (unit + i * units) * comptime!(tile.stride()) + block];
            #[unroll]
            for e in 0..tile.width {
                values[i * tile.width + e] = vector.extract(e);
            }
        }
    } else {
        #[unroll]
        for e in 0..tile.width {
            #[unroll]
            for group in 0..comptime!(count / tile.width) {
                let line = block * tile.width + e;
                let vector = stages[start + line * comptime!(tile.stride()) + unit + group * units];
                #[unroll]
                for i in 0..tile.width {
                    values[(group * tile.width + i) * tile.width + e] = vector.extract(i);
                }
            }
        }
    }
}

/// Returns where in its tile the unit's row or column number `i` is.
#[cube]
fn position(
    #[comptime] i: usize,
    unit: usize,
    #[comptime] tile: OperandTile,
    #[comptime] units: usize,
) -> usize {
    if comptime!(tile.depth_adjacent) {
        unit + comptime!(i * units)
    } else {
        (unit + comptime!(i / tile.width * units)) * tile.width + comptime!(i % tile.width)
    }
}
