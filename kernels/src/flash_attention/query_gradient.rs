//! Attention backward, first kernel: gradients of queries.
//!
//! It computes the weights again from queries, keys and the saved log-sum-exp. With `p = exp(scale q.k - lse)`, `dp =
//! do.v` and `delta = do.o` (row by row): `ds = p (dp - delta)` and `dq = scale ds k` (Dao et al. 2022, appendix B).

use cubecl::prelude::*;

use super::tile::{Lengths, TileUnit, Tiling, last_first, owns_column, reduction_scratch, row_sum};
use super::view::HeadStrides;

/// Computes the gradient of one block of queries of one head. It also computes `delta` of its rows and stores it for
/// [`super::key_gradient::flash_attention_key_gradient`]. Cubes are numbered as in the forward kernel.
#[cube(launch_unchecked)]
pub fn flash_attention_query_gradient<E: Float, N: Size, P: Size>(
    query: &[Vector<E, N>],
    key: &[Vector<E, N>],
    value: &[Vector<E, N>],
    output: &[Vector<E, N>],
    output_gradient: &[Vector<E, N>],
    log_sum_exp: &[f32],
    delta: &mut [f32],
    query_gradient: &mut [Vector<E, N>],
    query_at: HeadStrides,
    key_at: HeadStrides,
    value_at: HeadStrides,
    output_at: HeadStrides,
    output_gradient_at: HeadStrides,
    query_gradient_at: HeadStrides,
    seq: usize,
    scale: f32,
    lengths: Lengths,
    #[comptime] group: usize,
    #[comptime] tiling: Tiling,
    #[define(E)] _element: ElemType,
) {
    let tile_rows = comptime!(tiling.rows());
    let tile_columns = comptime!(tiling.columns());
    let unit = TileUnit::new(lengths, tiling);
    let (x, y) = (unit.x, unit.y);
    let head = CUBE_POS_X as usize;
    let sequence = CUBE_POS_Y as usize;
    let first_query = last_first(CUBE_POS_Z, CUBE_COUNT_Z) * tile_rows;
    let first_row = (sequence * CUBE_COUNT_X as usize + head) * seq;

    let query_rows = query_at.rows(sequence, head, seq);
    let key_rows = key_at.rows(sequence, head / group, seq);
    let value_rows = value_at.rows(sequence, head / group, seq);
    let output_rows = output_at.rows(sequence, head, seq);
    let output_gradient_rows = output_gradient_at.rows(sequence, head, seq);
    let query_gradient_rows = query_gradient_at.rows(sequence, head, seq);

    let row_size = comptime!(tile_rows * tiling.stride());
    let column_size = comptime!(tiling.columns() * tiling.stride());
    let mut query_tile = Shared::<[Vector<f32, N>]>::new_slice(row_size);
    let mut gradient_tile = Shared::<[Vector<f32, N>]>::new_slice(row_size);
    let mut key_tile = Shared::<[Vector<f32, N>]>::new_slice(column_size);
    let mut value_tile = Shared::<[Vector<f32, N>]>::new_slice(column_size);
    let mut weights =
        Shared::<[Vector<f32, P>]>::new_slice(comptime!(tiling.rows() * tiling.weight_stride()));
    let mut scratch = reduction_scratch(tiling);

    unit.load_scaled::<E, N>(
        query,
        &mut query_tile,
        query_rows,
        first_query,
        tile_rows,
        scale,
    );
    unit.load::<E, N>(
        output_gradient,
        &mut gradient_tile,
        output_gradient_rows,
        first_query,
        tile_rows,
    );
    sync_cube();

    let rows = comptime!(tiling.rows_per_unit);
    let columns = comptime!(tiling.columns_per_unit);
    let vectors = comptime!(tiling.vectors_per_unit());
    let mut deltas = Array::<f32>::new(rows);
    let mut logs = Array::<f32>::new(rows);
    let mut factors = Array::<f32>::new(rows);
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(rows * vectors));
    #[unroll]
    for i in 0..rows {
        let row = y + i * tiling.units_y;
        let query_index = first_query + row;
        // A row after the end reads the last row; its result is never stored.
        let inside = min(query_index, seq - 1);
        let mut partial = 0.0f32;
        #[unroll]
        for v in 0..vectors {
            sums[i * vectors + v] = Vector::new(0.0f32);
            let column = x + v * tiling.units_x;
            if owns_column(column, tiling) {
                let gradient = gradient_tile[row * comptime!(tiling.stride()) + column];
                let out = Vector::<f32, N>::cast_from(
                    output[output_rows.start
                        + inside * output_rows.stride
                        + column * output_rows.column_stride],
                );
                #[unroll]
                for e in 0..N::value() {
                    partial = fma(gradient.extract(e), out.extract(e), partial);
                }
            }
        }
        deltas[i] = row_sum(partial, &mut scratch, tiling);
        logs[i] = log_sum_exp[first_row + inside];
        factors[i] = scale;
        if x == 0 && query_index < seq {
            delta[first_row + query_index] = deltas[i];
        }
    }

    let mut scores = Array::<f32>::new(comptime!(rows * columns));
    let mut products = Array::<f32>::new(comptime!(rows * columns));
    let keys = min(first_query + tile_rows, seq);
    let blocks = keys.div_ceil(tile_columns);
    for block in 0..blocks {
        let first_key = block * tile_columns;
        unit.load::<E, N>(key, &mut key_tile, key_rows, first_key, tile_columns);
        unit.load::<E, N>(value, &mut value_tile, value_rows, first_key, tile_columns);
        sync_cube();

        unit.dot_rows::<N>(&query_tile, &key_tile, &mut scores);
        unit.dot_rows::<N>(&gradient_tile, &value_tile, &mut products);
        #[unroll]
        for i in 0..rows {
            let query_index = first_query + y + i * tiling.units_y;
            let mut row_weights = Vector::<f32, P>::new(0.0f32);
            #[unroll]
            for j in 0..columns {
                let key_index = first_key + x + j * tiling.units_x;
                let weight = (scores[i * columns + j] - logs[i]).exp();
                let gradient = weight * (products[i * columns + j] - deltas[i]);
                row_weights.insert(
                    j,
                    select(key_index <= query_index, gradient, 0.0f32.runtime()),
                );
            }
            weights[(y + i * tiling.units_y) * comptime!(tiling.weight_stride()) + x] = row_weights;
        }
        sync_cube();

        unit.weigh_rows::<N, P>(&weights, &key_tile, &mut sums);
        sync_cube();
    }

    unit.store_rows::<E, N>(
        &sums,
        &factors,
        query_gradient,
        query_gradient_rows,
        first_query,
    );
}
