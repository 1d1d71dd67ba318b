//! Attention backward, second kernel: gradients of keys and values, `dk = scale ds^T q` and `dv = p^T do` in the
//! notation of the first kernel, whose `delta` it reads.

use cubecl::prelude::*;

use super::tile::{Lengths, TileUnit, Tiling};
use super::view::HeadStrides;

/// Computes gradients of one block of keys and values of one key head. The cube loops over the query heads of its group
/// and over the queries that see its keys, so each gradient has one writer and one order of summation.
///
/// The rows of the score tile are keys here, its columns are queries. Cubes are numbered `(key head, sequence, block)`.
#[cube(launch_unchecked)]
pub fn flash_attention_key_gradient<E: Float, N: Size, P: Size>(
    query: &[Vector<E, N>],
    key: &[Vector<E, N>],
    value: &[Vector<E, N>],
    output_gradient: &[Vector<E, N>],
    log_sum_exp: &[f32],
    delta: &[f32],
    key_gradient: &mut [Vector<E, N>],
    value_gradient: &mut [Vector<E, N>],
    query_at: HeadStrides,
    key_at: HeadStrides,
    value_at: HeadStrides,
    output_gradient_at: HeadStrides,
    key_gradient_at: HeadStrides,
    value_gradient_at: HeadStrides,
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
    let key_head = CUBE_POS_X as usize;
    let sequence = CUBE_POS_Y as usize;
    let first_key = CUBE_POS_Z as usize * tile_rows;

    let key_rows = key_at.rows(sequence, key_head, seq);
    let value_rows = value_at.rows(sequence, key_head, seq);
    let key_gradient_rows = key_gradient_at.rows(sequence, key_head, seq);
    let value_gradient_rows = value_gradient_at.rows(sequence, key_head, seq);

    let row_size = comptime!(tile_rows * tiling.stride());
    let column_size = comptime!(tiling.columns() * tiling.stride());
    let weight_size = comptime!(tiling.rows() * tiling.weight_stride());
    let mut key_tile = Shared::<[Vector<f32, N>]>::new_slice(row_size);
    let mut value_tile = Shared::<[Vector<f32, N>]>::new_slice(row_size);
    let mut query_tile = Shared::<[Vector<f32, N>]>::new_slice(column_size);
    let mut gradient_tile = Shared::<[Vector<f32, N>]>::new_slice(column_size);
    let mut weights = Shared::<[Vector<f32, P>]>::new_slice(weight_size);
    let mut score_gradients = Shared::<[Vector<f32, P>]>::new_slice(weight_size);

    unit.load::<E, N>(key, &mut key_tile, key_rows, first_key, tile_rows);
    unit.load::<E, N>(value, &mut value_tile, value_rows, first_key, tile_rows);

    let rows = comptime!(tiling.rows_per_unit);
    let columns = comptime!(tiling.columns_per_unit);
    let vectors = comptime!(tiling.vectors_per_unit());
    let mut scores = Array::<f32>::new(comptime!(rows * columns));
    let mut products = Array::<f32>::new(comptime!(rows * columns));
    let mut key_sums = Array::<Vector<f32, N>>::new(comptime!(rows * vectors));
    let mut value_sums = Array::<Vector<f32, N>>::new(comptime!(rows * vectors));
    let mut factors = Array::<f32>::new(rows);
    #[unroll]
    for i in 0..rows {
        factors[i] = 1.0f32;
        #[unroll]
        for v in 0..vectors {
            key_sums[i * vectors + v] = Vector::new(0.0f32);
            value_sums[i * vectors + v] = Vector::new(0.0f32);
        }
    }

    // Earlier queries see none of these keys.
    let first_block = first_key / tile_columns;
    let blocks = seq.div_ceil(tile_columns);
    for member in 0..group {
        let head = key_head * group + member;
        let first_row = (sequence * CUBE_COUNT_X as usize * group + head) * seq;
        let query_rows = query_at.rows(sequence, head, seq);
        let output_gradient_rows = output_gradient_at.rows(sequence, head, seq);

        for block in first_block..blocks {
            let first_query = block * tile_columns;
            unit.load_scaled::<E, N>(
                query,
                &mut query_tile,
                query_rows,
                first_query,
                tile_columns,
                scale,
            );
            unit.load::<E, N>(
                output_gradient,
                &mut gradient_tile,
                output_gradient_rows,
                first_query,
                tile_columns,
            );
            sync_cube();

            unit.dot_rows::<N>(&key_tile, &query_tile, &mut scores);
            unit.dot_rows::<N>(&value_tile, &gradient_tile, &mut products);
            let mut logs = Array::<f32>::new(columns);
            let mut deltas = Array::<f32>::new(columns);
            #[unroll]
            for j in 0..columns {
                let inside = min(first_query + x + j * tiling.units_x, seq - 1);
                logs[j] = log_sum_exp[first_row + inside];
                deltas[j] = delta[first_row + inside];
            }
            #[unroll]
            for i in 0..rows {
                let key_index = first_key + y + i * tiling.units_y;
                let mut row_weights = Vector::<f32, P>::new(0.0f32);
                let mut row_gradients = Vector::<f32, P>::new(0.0f32);
                #[unroll]
                for j in 0..columns {
                    let query_index = first_query + x + j * tiling.units_x;
                    let seen = key_index <= query_index && query_index < seq;
                    let weight = select(
                        seen,
                        (scores[i * columns + j] - logs[j]).exp(),
                        0.0f32.runtime(),
                    );
                    let gradient = weight * (products[i * columns + j] - deltas[j]);
                    row_weights.insert(j, weight);
                    row_gradients.insert(j, gradient);
                }
                let at = (y + i * tiling.units_y) * comptime!(tiling.weight_stride()) + x;
                weights[at] = row_weights;
                score_gradients[at] = row_gradients;
            }
            sync_cube();

            unit.weigh_rows::<N, P>(&weights, &gradient_tile, &mut value_sums);
            // The query tile holds scaled queries, which already include the scale of `dk`.
            unit.weigh_rows::<N, P>(&score_gradients, &query_tile, &mut key_sums);
            sync_cube();
        }
    }

    unit.store_rows::<E, N>(
        &key_sums,
        &factors,
        key_gradient,
        key_gradient_rows,
        first_key,
    );
    unit.store_rows::<E, N>(
        &value_sums,
        &factors,
        value_gradient,
        value_gradient_rows,
        first_key,
    );
}
