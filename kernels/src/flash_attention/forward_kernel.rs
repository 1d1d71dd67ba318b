//! Attention forward: computes the softmax of one block of queries while it loops over the keys.

use cubecl::prelude::*;

use super::tile::{
    LOWEST, Lengths, TileUnit, Tiling, last_first, mask_row, reduction_scratch, row_max, row_sum,
};
use super::view::HeadStrides;

/// One cube handles one block of queries of one head of one sequence. Cubes are numbered `(head, sequence, block)`, the
/// block with the most keys first, so that the longest cubes do not start last.
///
/// Running maximum `m` and sum `l` of each row follow the online softmax of Milakov and Gimelshein (2018): when `m`
/// grows, the sums so far are multiplied by `exp(m_old - m_new)`. The division by `l` comes once, at the end.
#[cube(launch_unchecked)]
pub fn flash_attention_forward<E: Float, N: Size, P: Size>(
    query: &[Vector<E, N>],
    key: &[Vector<E, N>],
    value: &[Vector<E, N>],
    output: &mut [Vector<E, N>],
    log_sum_exp: &mut [f32],
    query_at: HeadStrides,
    key_at: HeadStrides,
    value_at: HeadStrides,
    output_at: HeadStrides,
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

    let query_rows = query_at.rows(sequence, head, seq);
    let key_rows = key_at.rows(sequence, head / group, seq);
    let value_rows = value_at.rows(sequence, head / group, seq);
    let output_rows = output_at.rows(sequence, head, seq);

    let value_size = comptime!(tiling.columns() * tiling.stride());
    let mut query_tile =
        Shared::<[Vector<f32, N>]>::new_slice(comptime!(tile_rows * tiling.stride()));
    let mut key_tile = Shared::<[Vector<f32, N>]>::new_slice(value_size);
    let mut value_tile = Shared::<[Vector<f32, N>]>::new_slice(value_size);
    let mut weights =
        Shared::<[Vector<f32, P>]>::new_slice(comptime!(tiling.rows() * tiling.weight_stride()));
    let mut scratch = reduction_scratch(tiling);

    let rows = comptime!(tiling.rows_per_unit);
    let columns = comptime!(tiling.columns_per_unit);
    let vectors = comptime!(tiling.vectors_per_unit());
    let mut scores = Array::<f32>::new(comptime!(rows * columns));
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(rows * vectors));
    let mut maxima = Array::<f32>::new(rows);
    let mut totals = Array::<f32>::new(rows);
    #[unroll]
    for i in 0..rows {
        maxima[i] = LOWEST;
        totals[i] = 0.0f32;
        #[unroll]
        for v in 0..vectors {
            sums[i * vectors + v] = Vector::new(0.0f32);
        }
    }

    unit.load_scaled::<E, N>(
        query,
        &mut query_tile,
        query_rows,
        first_query,
        tile_rows,
        scale,
    );

    // No query of the block sees a key after its last query.
    let keys = min(first_query + tile_rows, seq);
    let blocks = keys.div_ceil(tile_columns);
    for block in 0..blocks {
        let first_key = block * tile_columns;
        unit.load::<E, N>(key, &mut key_tile, key_rows, first_key, tile_columns);
        unit.load::<E, N>(value, &mut value_tile, value_rows, first_key, tile_columns);
        sync_cube();

        unit.dot_rows::<N>(&query_tile, &key_tile, &mut scores);
        #[unroll]
        for i in 0..rows {
            let query_index = first_query + y + i * tiling.units_y;
            let largest = mask_row(&mut scores, i, query_index, first_key, x, maxima[i], tiling);
            let largest = row_max(largest, &mut scratch, tiling);

            let mut total = 0.0f32;
            let mut row_weights = Vector::<f32, P>::new(0.0f32);
            #[unroll]
            for j in 0..columns {
                let weight = (scores[i * columns + j] - largest).exp();
                row_weights.insert(j, weight);
                total += weight;
            }
            weights[(y + i * tiling.units_y) * comptime!(tiling.weight_stride()) + x] = row_weights;

            let shrink = (maxima[i] - largest).exp();
            maxima[i] = largest;
            // The sum covers only this unit's columns: the row's sum is formed once, after the last block.
            totals[i] = totals[i] * shrink + total;
            #[unroll]
            for v in 0..vectors {
                sums[i * vectors + v] *= Vector::new(shrink);
            }
        }
        sync_cube();

        unit.weigh_rows::<N, P>(&weights, &value_tile, &mut sums);
        sync_cube();
    }

    let mut factors = Array::<f32>::new(rows);
    #[unroll]
    for i in 0..rows {
        let total = row_sum(totals[i], &mut scratch, tiling);
        factors[i] = 1.0f32 / total;
        let query_index = first_query + y + i * tiling.units_y;
        if x == 0 && query_index < seq {
            let row = (sequence * CUBE_COUNT_X as usize + head) * seq + query_index;
            log_sum_exp[row] = maxima[i] + total.ln();
        }
    }
    unit.store_rows::<E, N>(&sums, &factors, output, output_rows, first_query);
}
