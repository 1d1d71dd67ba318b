//! The log-sum-exp of attention's scores alone, for a library whose forward pass keeps it to itself and whose backward pass
//! asks for it.

use cubecl::prelude::*;

use super::tile::{
    LOWEST, Lengths, Tiling, Unit, last_first, mask_row, reduction_scratch, row_max, row_sum,
};
use super::view::Place;

/// One cube: one block of queries of one head of one sequence, numbered as in the forward kernel.
///
/// Each unit keeps the running maximum and sum of its own columns; a row's are formed once, at the end.
#[cube(launch_unchecked)]
pub fn flash_attention_log_sum_exp<E: Float, N: Size>(
    query: &[Vector<E, N>],
    key: &[Vector<E, N>],
    log_sum_exp: &mut [f32],
    query_at: Place,
    key_at: Place,
    seq: usize,
    scale: f32,
    lengths: Lengths,
    #[comptime] group: usize,
    #[comptime] tiling: Tiling,
    #[define(E)] _element: ElemType,
) {
    let tile_rows = comptime!(tiling.rows());
    let tile_columns = comptime!(tiling.columns());
    let unit = Unit::new(lengths, tiling);
    let (x, y) = (unit.x, unit.y);
    let head = CUBE_POS_X as usize;
    let sequence = CUBE_POS_Y as usize;
    let first_query = last_first(CUBE_POS_Z, CUBE_COUNT_Z) * tile_rows;
    let query_rows = query_at.rows(sequence, head, seq);
    let key_rows = key_at.rows(sequence, head / group, seq);

    let mut query_tile =
        Shared::<[Vector<f32, N>]>::new_slice(comptime!(tile_rows * tiling.stride()));
    let mut key_tile =
        Shared::<[Vector<f32, N>]>::new_slice(comptime!(tiling.columns() * tiling.stride()));
    let mut scratch = reduction_scratch(tiling);

    let rows = comptime!(tiling.rows_per_unit);
    let columns = comptime!(tiling.columns_per_unit);
    let mut scores = Array::<f32>::new(comptime!(rows * columns));
    let mut maxima = Array::<f32>::new(rows);
    let mut totals = Array::<f32>::new(rows);
    #[unroll]
    for i in 0..rows {
        maxima[i] = LOWEST;
        totals[i] = 0.0f32;
    }
    unit.load_scaled::<E, N>(
        query,
        &mut query_tile,
        query_rows,
        first_query,
        tile_rows,
        scale,
    );

    // No query of the block sees a key behind its last query.
    let keys = min(first_query + tile_rows, seq);
    let blocks = keys.div_ceil(tile_columns);
    for block in 0..blocks {
        let first_key = block * tile_columns;
        unit.load::<E, N>(key, &mut key_tile, key_rows, first_key, tile_columns);
        sync_cube();
        unit.dot_rows::<N>(&query_tile, &key_tile, &mut scores);
        #[unroll]
        for i in 0..rows {
            let query_index = first_query + y + i * tiling.units_y;
            let largest = mask_row(&mut scores, i, query_index, first_key, x, maxima[i], tiling);
            let mut total = totals[i] * (maxima[i] - largest).exp();
            #[unroll]
            for j in 0..columns {
                total += (scores[i * columns + j] - largest).exp();
            }
            maxima[i] = largest;
            totals[i] = total;
        }
        sync_cube();
    }

    #[unroll]
    for i in 0..rows {
        // Every row sees its own position, so a unit that saw only masked columns adds exp(LOWEST - largest) = 0.
        let largest = row_max(maxima[i], &mut scratch, tiling);
        let total = row_sum(
            totals[i] * (maxima[i] - largest).exp(),
            &mut scratch,
            tiling,
        );
        let query_index = first_query + y + i * tiling.units_y;
        if x == 0 && query_index < seq {
            let row = (sequence * CUBE_COUNT_X as usize + head) * seq + query_index;
            log_sum_exp[row] = largest + total.ln();
        }
    }
}
