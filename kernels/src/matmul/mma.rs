//! The product on matrix units, through instructions whose registers a plane fills itself.
//!
//! f32 is rounded to tf32 on its way into shared memory, bf16 and f16 stay as they are. Sums are f32.

use cubecl::cmma::{MatrixIdent, MmaDefinition};
use cubecl::{ir::ElemType, prelude::*};

use super::tile::{DepthSteps, OperandPlace, OperandTile, OutputPlace, fetch, put};

/// The instruction's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// True if the device loads operands of 16 bits with one instruction a matrix.
    pub loads: bool,
}

/// A cube of `planes_y` by `planes_x` planes, each of which computes `rows` by `columns` results of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MmaTiling {
    pub planes_y: usize,
    pub planes_x: usize,
    pub rows: usize,
    pub columns: usize,
    pub plane_size: usize,
    pub instruction: Instruction,
    pub left: OperandTile,
    pub right: OperandTile,
    /// Elements of a vector of the result.
    pub output_width: usize,
}

impl MmaTiling {
    pub const fn units(self) -> usize {
        self.planes_y * self.planes_x * self.plane_size
    }

    const fn checked(self) -> bool {
        self.left.checked || self.right.checked
    }
}

/// As [`matmul_fma`](super::fma::matmul_fma), by planes.
#[cube(launch_unchecked)]
pub fn matmul_mma<E: Float, S: Numeric, O: Float, N: Size, P: Size>(
    left: &[Vector<E, N>],
    right: &[Vector<E, N>],
    output: &mut [Vector<O, P>],
    left_at: OperandPlace,
    right_at: OperandPlace,
    output_at: OutputPlace,
    steps: DepthSteps,
    #[comptime] tiling: MmaTiling,
    #[define(E)] _dtype: ElemType,
    #[define(S)] _stage_dtype: ElemType,
    #[define(O)] _output_dtype: ElemType,
) {
    let units = comptime!(tiling.units());
    let depth = comptime!(tiling.left.depth);
    let lane = UNIT_POS % comptime!(tiling.plane_size as u32);
    let plane = UNIT_POS as usize / tiling.plane_size;
    let instruction = comptime!(tiling.instruction);
    let plane_row = plane / tiling.planes_x * comptime!(tiling.rows * instruction.m);
    let plane_column = plane % tiling.planes_x * comptime!(tiling.columns * instruction.n);
    let first_row = CUBE_POS_Y as usize * comptime!(tiling.left.side);
    let first_column = CUBE_POS_X as usize * comptime!(tiling.right.side);
    let first = CUBE_POS_Z as usize * steps.part;
    let end = min(first + steps.part, steps.all);

    let left_size = comptime!(tiling.left.size());
    let right_size = comptime!(tiling.right.size());
    let mut left_stages =
        Shared::<[Vector<S, N>]>::new_aligned_slice(comptime!(2 * left_size), 16usize);
    let mut right_stages =
        Shared::<[Vector<S, N>]>::new_aligned_slice(comptime!(2 * right_size), 16usize);
    let mut left_share = Array::<Vector<E, N>>::new(comptime!(tiling.left.share(units)));
    let mut right_share = Array::<Vector<E, N>>::new(comptime!(tiling.right.share(units)));

    let product = MmaDefinition::<S, S, f32>::new(instruction.m, instruction.n, instruction.k);
    let size!(NA) = product.vector_size(MatrixIdent::A);
    let size!(NB) = product.vector_size(MatrixIdent::B);
    let size!(NC) = product.vector_size(MatrixIdent::Accumulator);
    let left_vectors = product.vectors_per_lane(MatrixIdent::A);
    let right_vectors = product.vectors_per_lane(MatrixIdent::B);
    let sum_vectors = product.vectors_per_lane(MatrixIdent::Accumulator);
    let sum_width = product.vector_size(MatrixIdent::Accumulator);

    let mut sums = Sequence::<Array<Vector<f32, NC>>>::new();
    #[unroll]
    for _ in 0..comptime!(tiling.rows * tiling.columns) {
        let mut sum = Array::<Vector<f32, NC>>::new(sum_vectors);
        #[unroll]
        for vector in 0..sum_vectors {
            sum[vector] = Vector::new(0.0f32);
        }
        sums.push(sum);
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
    put::<E, S, N>(&mut left_stages, &left_share, 0usize, tiling.left, units);
    put::<E, S, N>(&mut right_stages, &right_share, 0usize, tiling.right, units);
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
        let left_stage = &left_stages[here * left_size..(here + 1) * left_size];
        let right_stage = &right_stages[here * right_size..(here + 1) * right_size];
        #[unroll]
        for block in 0..comptime!(depth / instruction.k) {
            let at = block * instruction.k;
            let mut lefts = Sequence::<Array<Vector<S, NA>>>::new();
            #[unroll]
            for i in 0..tiling.rows {
                let mut fragment = Array::<Vector<S, NA>>::new(left_vectors);
                let side = plane_row + i * instruction.m;
                load::<S, N, NA>(
                    left_stage,
                    &mut fragment,
                    &product,
                    side,
                    at,
                    lane,
                    MatrixIdent::A,
                    tiling.left,
                    instruction,
                );
                lefts.push(fragment);
            }
            #[unroll]
            for j in 0..tiling.columns {
                let mut fragment = Array::<Vector<S, NB>>::new(right_vectors);
                let side = plane_column + j * instruction.n;
                load::<S, N, NB>(
                    right_stage,
                    &mut fragment,
                    &product,
                    side,
                    at,
                    lane,
                    MatrixIdent::B,
                    tiling.right,
                    instruction,
                );
                #[unroll]
                for i in 0..tiling.rows {
                    let sum = sums.index_mut(i * tiling.columns + j);
                    product.execute_inplace(lefts.index(i), &fragment, sum);
                }
            }
        }
        if step + 1 < end {
            let there = 1 - here;
            put::<E, S, N>(
                &mut left_stages,
                &left_share,
                there * left_size,
                tiling.left,
                units,
            );
            put::<E, S, N>(
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
        #[unroll]
        for j in 0..tiling.columns {
            let sum = sums.index(i * tiling.columns + j);
            #[unroll]
            for vector in 0..sum_vectors {
                let elements = sum[vector];
                #[unroll]
                for group in 0..comptime!(sum_width / width) {
                    let nth = vector * sum_width + group * width;
                    let (row, column) =
                        product.position_of_nth(lane, nth as u32, MatrixIdent::Accumulator);
                    let row = first_row + plane_row + i * instruction.m + row as usize;
                    let column = first_column + plane_column + j * instruction.n + column as usize;
                    let mut value = Vector::<O, P>::empty();
                    #[unroll]
                    for e in 0..width {
                        value.insert(e, O::cast_from(elements.extract(group * width + e)));
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
    }
}

/// Fills a lane's registers of one operand of an instruction, which begins at `side` and `depth` of the stage.
#[cube]
fn load<S: Numeric, N: Size, F: Size>(
    stage: &[Vector<S, N>],
    fragment: &mut Array<Vector<S, F>>,
    product: &MmaDefinition<S, S, f32>,
    side: usize,
    depth: usize,
    lane: u32,
    #[comptime] ident: MatrixIdent,
    #[comptime] tile: OperandTile,
    #[comptime] instruction: Instruction,
) {
    let count = product.vectors_per_lane(ident);
    let width = product.vector_size(ident);
    let stride = comptime!(tile.stride() * tile.width);
    if comptime!(instruction.loads) {
        // Eight lanes give the eight lines of a matrix of 8 x 8, so 16 bytes each.
        let matrix = lane / 8 % comptime!(count as u32);
        let (row, column) = product.position_of_nth(0u32, matrix * comptime!(width as u32), ident);
        let (side_in, depth_in) = sides(row, column, ident);
        let line = (lane % 8) as usize;
        let mut at = (side + side_in + line) * stride + depth + depth_in;
        if comptime!(!tile.depth_adjacent) {
            at = (depth + depth_in + line) * stride + side + side_in;
        }
        let at = at / tile.width;
        let row = &stage[at..at + 1];
        let registers =
            product.load_matrix::<_, F>(row, ident, count, comptime!(!tile.depth_adjacent));
        #[unroll]
        for vector in 0..count {
            fragment[vector] = Vector::cast_from(registers[vector]);
        }
    } else if comptime!(tile.depth_adjacent) {
        let elements = stage.with_vector_size::<F>();
        #[unroll]
        for vector in 0..count {
            let (row, column) = product.position_of_nth(lane, (vector * width) as u32, ident);
            let (side_in, depth_in) = sides(row, column, ident);
            let at = (side + side_in) * stride + depth + depth_in;
            fragment[vector] = elements[at / width];
        }
    } else {
        let elements = stage.with_vector_size::<Const<1>>();
        #[unroll]
        for vector in 0..count {
            let mut value = Vector::<S, F>::empty();
            #[unroll]
            for e in 0..width {
                let (row, column) =
                    product.position_of_nth(lane, (vector * width + e) as u32, ident);
                let (side_in, depth_in) = sides(row, column, ident);
                let at = (depth + depth_in) * stride + side + side_in;
                value.insert(e, elements[at].extract(0usize));
            }
            fragment[vector] = value;
        }
    }
}

/// Returns a place in an operand's matrix as a place along its side and along the sum.
#[cube]
fn sides(row: u32, column: u32, #[comptime] ident: MatrixIdent) -> (usize, usize) {
    if comptime!(ident == MatrixIdent::A) {
        (row as usize, column as usize)
    } else {
        (column as usize, row as usize)
    }
}
