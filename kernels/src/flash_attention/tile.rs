//! The two small matrix products of every attention kernel, on tiles in shared memory.
//!
//! A cube is a grid of `units_x` by `units_y` units. Unit `(x, y)` owns the rows `y + i * units_y` and the columns `x +
//! j * units_x` of a score tile. Neighbouring units thus read neighbouring rows of a tile. Rows are an odd number of
//! vectors long, so no two of them share a memory bank.

use cubecl::prelude::*;

/// A tiling as the kernels see it: known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiling {
    pub units_x: usize,
    pub units_y: usize,
    pub rows_per_unit: usize,
    pub columns_per_unit: usize,
    /// Vectors in one row of `head_dim` values.
    pub vectors: usize,
    /// True if rows may be reduced by plane shuffles.
    pub planes: bool,
}

impl Tiling {
    pub const fn units(self) -> usize {
        self.units_x * self.units_y
    }

    /// Returns the rows of a score tile.
    pub const fn rows(self) -> usize {
        self.units_y * self.rows_per_unit
    }

    /// Returns the columns of a score tile.
    pub const fn columns(self) -> usize {
        self.units_x * self.columns_per_unit
    }

    /// Returns the vectors from one row of a value tile to the next; an odd number, against bank conflicts.
    pub const fn stride(self) -> usize {
        self.vectors | 1
    }

    /// Returns the vectors from one row of a weight tile to the next; odd for the same reason.
    pub const fn weight_stride(self) -> usize {
        self.units_x | 1
    }

    /// Returns the vectors of an output row that one unit accumulates.
    pub const fn vectors_per_unit(self) -> usize {
        self.vectors.div_ceil(self.units_x)
    }
}

/// Lengths of the inner loops, which [`Tiling`] also has. As arguments they are unknown to the compiler. If it knew
/// them, it would unroll these loops entirely, load everything first and run out of registers. On gfx90a and gfx1100
/// that took hundreds of bytes of scratch memory per unit; this way takes none.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct Lengths {
    vectors: usize,
    units_x: usize,
}

impl Tiling {
    pub fn lengths(self) -> LengthsLaunch {
        LengthsLaunch::new(self.vectors, self.units_x)
    }
}

/// Start of one head of one sequence in a buffer, and the distances of its rows and columns, in vectors.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct Rows {
    pub start: usize,
    pub stride: usize,
    pub column_stride: usize,
    /// Number of rows.
    pub count: usize,
}

/// Position of a unit in its cube, and the tiling of the cube.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct TileUnit {
    pub x: usize,
    pub y: usize,
    lengths: Lengths,
    #[cube(comptime)]
    tiling: Tiling,
}

/// Returns the block for cube `position` of `count`, so that the last block starts first.
#[cube]
pub(super) fn last_first(position: u32, count: u32) -> usize {
    (count - 1 - position) as usize
}

#[cube]
impl TileUnit {
    pub fn new(lengths: Lengths, #[comptime] tiling: Tiling) -> TileUnit {
        TileUnit {
            x: UNIT_POS as usize % tiling.units_x,
            y: UNIT_POS as usize / tiling.units_x,
            lengths,
            tiling,
        }
    }

    /// Copies `tile_rows` rows from `first` on into shared memory; rows past the last become zero.
    pub fn load<E: Float, N: Size>(
        &self,
        source: &[Vector<E, N>],
        tile: &mut Shared<[Vector<f32, N>]>,
        rows: Rows,
        first: usize,
        #[comptime] tile_rows: usize,
    ) {
        self.load_scaled::<E, N>(source, tile, rows, first, tile_rows, 1.0f32);
    }

    /// As `load`, times `factor`.
    pub fn load_scaled<E: Float, N: Size>(
        &self,
        source: &[Vector<E, N>],
        tile: &mut Shared<[Vector<f32, N>]>,
        rows: Rows,
        first: usize,
        #[comptime] tile_rows: usize,
        factor: f32,
    ) {
        let tiling = comptime!(self.tiling);
        let total = comptime!(tile_rows * tiling.vectors);
        let steps = comptime!(total.div_ceil(tiling.units()));
        for step in 0..steps {
            let index = step * comptime!(tiling.units()) + UNIT_POS as usize;
            if index < total {
                let row = index / tiling.vectors;
                let column = index % tiling.vectors;
                let mut value = Vector::<f32, N>::new(0.0f32);
                if first + row < rows.count {
                    let at = rows.start + (first + row) * rows.stride + column * rows.column_stride;
                    value = Vector::cast_from(source[at]) * Vector::new(factor);
                }
                tile[row * comptime!(tiling.stride()) + column] = value;
            }
        }
    }

    /// Computes `scores[i, j] = left[row i] . right[column j]` for the unit's rows and columns.
    pub fn dot_rows<N: Size>(
        &self,
        left: &Shared<[Vector<f32, N>]>,
        right: &Shared<[Vector<f32, N>]>,
        scores: &mut Array<f32>,
    ) {
        let tiling = comptime!(self.tiling);
        let rows = comptime!(tiling.rows_per_unit);
        let columns = comptime!(tiling.columns_per_unit);
        let stride = comptime!(tiling.stride());

        #[unroll]
        for score in 0..comptime!(rows * columns) {
            scores[score] = 0.0f32;
        }
        for d in 0..self.lengths.vectors {
            let mut lefts = Array::<Vector<f32, N>>::new(rows);
            #[unroll]
            for i in 0..rows {
                lefts[i] = left[(self.y + i * tiling.units_y) * stride + d];
            }
            #[unroll]
            for j in 0..columns {
                let right = right[(self.x + j * tiling.units_x) * stride + d];
                #[unroll]
                for i in 0..rows {
                    let mut sum = scores[i * columns + j];
                    #[unroll]
                    for e in 0..N::value() {
                        sum = fma(lefts[i].extract(e), right.extract(e), sum);
                    }
                    scores[i * columns + j] = sum;
                }
            }
        }
    }

    /// Computes `sums[i] += sum over columns c of weights[row i, c] * values[c]`, for the vectors of an output row that
    /// the unit owns.
    ///
    /// Vector `p` of a weight row holds what unit `(p, y)` wrote: the weights of columns `p + e * units_x`.
    pub fn weigh_rows<N: Size, P: Size>(
        &self,
        weights: &Shared<[Vector<f32, P>]>,
        values: &Shared<[Vector<f32, N>]>,
        sums: &mut Array<Vector<f32, N>>,
    ) {
        let tiling = comptime!(self.tiling);
        let rows = comptime!(tiling.rows_per_unit);
        let vectors = comptime!(tiling.vectors_per_unit());

        for p in 0..self.lengths.units_x {
            let mut row_weights = Array::<Vector<f32, P>>::new(rows);
            #[unroll]
            for i in 0..rows {
                row_weights[i] =
                    weights[(self.y + i * tiling.units_y) * comptime!(tiling.weight_stride()) + p];
            }
            #[unroll]
            for e in 0..P::value() {
                #[unroll]
                for v in 0..vectors {
                    let column = self.x + v * tiling.units_x;
                    if owns_column(column, tiling) {
                        let value =
                            values[(p + e * tiling.units_x) * comptime!(tiling.stride()) + column];
                        #[unroll]
                        for i in 0..rows {
                            let weight = Vector::<f32, N>::new(row_weights[i].extract(e));
                            sums[i * vectors + v] = fma(weight, value, sums[i * vectors + v]);
                        }
                    }
                }
            }
        }
    }

    /// Writes the unit's vectors of its rows, times `factors`, to global memory; rows past the last are not written.
    pub fn store_rows<E: Float, N: Size>(
        &self,
        sums: &Array<Vector<f32, N>>,
        factors: &Array<f32>,
        target: &mut [Vector<E, N>],
        rows: Rows,
        first: usize,
    ) {
        let tiling = comptime!(self.tiling);
        let vectors = comptime!(tiling.vectors_per_unit());
        #[unroll]
        for i in 0..tiling.rows_per_unit {
            let row = first + self.y + i * tiling.units_y;
            if row < rows.count {
                #[unroll]
                for v in 0..vectors {
                    let column = self.x + v * tiling.units_x;
                    if owns_column(column, tiling) {
                        target[rows.start + row * rows.stride + column * rows.column_stride] =
                            Vector::cast_from(sums[i * vectors + v] * Vector::new(factors[i]));
                    }
                }
            }
        }
    }
}

/// Lower than every score; finite, since WGSL has no infinities.
pub(super) const LOWEST: f32 = -1.0e30;

/// Sets the scores of keys after the query to [`LOWEST`] in row `i` of a unit's scores. Returns the largest of the row
/// and `largest`.
#[cube]
pub(super) fn mask_row(
    scores: &mut Array<f32>,
    i: usize,
    query_index: usize,
    first_key: usize,
    x: usize,
    largest: f32,
    #[comptime] tiling: Tiling,
) -> f32 {
    let columns = comptime!(tiling.columns_per_unit);
    let mut largest = largest;
    #[unroll]
    for j in 0..columns {
        let key_index = first_key + x + j * tiling.units_x;
        let score = select(
            key_index <= query_index,
            scores[i * columns + j],
            LOWEST.runtime(),
        );
        scores[i * columns + j] = score;
        largest = max(largest, score);
    }
    largest
}

/// Returns whether `column` lies inside a row; known at compile time if rows divide evenly among the units.
#[cube]
pub(super) fn owns_column(column: usize, #[comptime] tiling: Tiling) -> bool {
    if comptime!(tiling.vectors.is_multiple_of(tiling.units_x)) {
        true.runtime()
    } else {
        column < tiling.vectors
    }
}

/// Returns the sum of `value` over the `units_x` units of a row to all of them.
#[cube]
pub(super) fn row_sum(value: f32, scratch: &mut Shared<[f32]>, #[comptime] tiling: Tiling) -> f32 {
    let mut total = value;
    if comptime!(tiling.planes) {
        #[unroll]
        for step in 0..comptime!(tiling.units_x.ilog2()) {
            total += plane_shuffle_xor(total, comptime!(1u32 << step));
        }
    } else {
        scratch[UNIT_POS as usize] = value;
        sync_cube();
        let row = UNIT_POS as usize / tiling.units_x * tiling.units_x;
        total = 0.0f32;
        for x in 0..tiling.units_x {
            total += scratch[row + x];
        }
        sync_cube();
    }
    total
}

/// Returns the largest `value` of the `units_x` units of a row to all of them.
#[cube]
pub(super) fn row_max(value: f32, scratch: &mut Shared<[f32]>, #[comptime] tiling: Tiling) -> f32 {
    let mut largest = value;
    if comptime!(tiling.planes) {
        #[unroll]
        for step in 0..comptime!(tiling.units_x.ilog2()) {
            largest = max(largest, plane_shuffle_xor(largest, comptime!(1u32 << step)));
        }
    } else {
        scratch[UNIT_POS as usize] = value;
        sync_cube();
        let row = UNIT_POS as usize / tiling.units_x * tiling.units_x;
        for x in 0..tiling.units_x {
            largest = max(largest, scratch[row + x]);
        }
        sync_cube();
    }
    largest
}

/// Allocates shared memory for the row reductions without planes; one value if it is not needed.
#[cube]
pub(super) fn reduction_scratch(#[comptime] tiling: Tiling) -> Shared<[f32]> {
    Shared::<[f32]>::new_slice(comptime!(if tiling.planes { 1 } else { tiling.units() }))
}
