//! Block sizes of the attention kernels: what may be tuned, what fits, and where to start.

use cubecl::prelude::*;

use super::tile::Tiling;
use super::{KERNEL, Shape};
use crate::{
    KernelError,
    launch::{compute_units, plane_size},
    tunables,
};

/// Shared memory a block picked here takes at most, in bytes: what every CUDA device grants without being asked.
const MOST_SHARED_MEMORY: usize = 48 * 1024;

/// Beyond this a unit's scores and sums fit no register file.
const MOST_ROWS_PER_UNIT: usize = 16;

/// Block sizes; comptime values of the three kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlashAttentionBlock {
    pub forward: AttentionTile,
    pub query_gradient: AttentionTile,
    pub key_gradient: AttentionTile,
}

/// How a cube is built and what each of its units works on.
///
/// A cube has `units_x * units_y` units and works on score tiles of `units_y * rows_per_unit` rows and
/// `units_x * columns_per_unit` columns. Rows are queries in the forward kernel and in the one for query gradients, keys
/// in the one for key and value gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttentionTile {
    /// Units that share a row; a power of two.
    pub units_x: usize,
    pub units_y: usize,
    pub rows_per_unit: usize,
    /// 1, 2 or 4: a unit's weights of one row are one vector.
    pub columns_per_unit: usize,
}

/// The three kernels, as far as block sizes care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Forward,
    QueryGradient,
    KeyGradient,
}

impl FlashAttentionBlock {
    /// Block sizes for this device and shape.
    pub fn for_device(client: &Client, shape: Shape) -> FlashAttentionBlock {
        FlashAttentionBlock {
            forward: AttentionTile::pick(client, shape, Pass::Forward),
            query_gradient: AttentionTile::pick(client, shape, Pass::QueryGradient),
            key_gradient: AttentionTile::pick(client, shape, Pass::KeyGradient),
        }
    }
}

impl AttentionTile {
    /// Rows of a score tile.
    pub fn rows(&self) -> usize {
        self.units_y * self.rows_per_unit
    }

    /// Columns of a score tile.
    pub fn columns(&self) -> usize {
        self.units_x * self.columns_per_unit
    }

    pub(super) fn tiling(&self, client: &Client, vectors: usize) -> Tiling {
        Tiling {
            units_x: self.units_x,
            units_y: self.units_y,
            rows_per_unit: self.rows_per_unit,
            columns_per_unit: self.columns_per_unit,
            vectors,
            planes: plane_size(client).is_some_and(|plane| plane.is_multiple_of(self.units_x)),
        }
    }

    /// Refuses a block that the kernels or the device cannot run.
    pub(super) fn check(
        &self,
        client: &Client,
        shape: Shape,
        vector_size: VectorSize,
        pass: Pass,
    ) -> Result<(), KernelError> {
        let hardware = &client.properties().hardware;
        let refuse = |reason: String| {
            Err(KernelError::Block {
                kernel: KERNEL,
                reason,
            })
        };
        if !self.units_x.is_power_of_two() {
            return refuse(format!("units_x is {}, not a power of two", self.units_x));
        }
        if self.units_y == 0 {
            return refuse("units_y must be at least 1".to_string());
        }
        if !(1..=MOST_ROWS_PER_UNIT).contains(&self.rows_per_unit) {
            return refuse(format!(
                "rows_per_unit is {}, not 1 to {MOST_ROWS_PER_UNIT}",
                self.rows_per_unit
            ));
        }
        if ![1, 2, 4].contains(&self.columns_per_unit) {
            return refuse(format!(
                "columns_per_unit is {}, not 1, 2 or 4",
                self.columns_per_unit
            ));
        }
        let units = self.units_x.saturating_mul(self.units_y);
        if units > hardware.max_units_per_cube as usize {
            return refuse(format!(
                "{units} units a cube, the device allows {}",
                hardware.max_units_per_cube
            ));
        }
        let bytes = self.shared_memory(client, shape, vector_size, pass);
        if bytes > hardware.max_shared_memory_size {
            return refuse(format!(
                "{bytes} bytes of shared memory, the device has {}; use fewer rows or columns",
                hardware.max_shared_memory_size
            ));
        }
        Ok(())
    }

    /// Bytes of shared memory a cube takes.
    fn shared_memory(
        &self,
        client: &Client,
        shape: Shape,
        vector_size: VectorSize,
        pass: Pass,
    ) -> usize {
        let tiling = self.tiling(client, shape.head_dim.div_ceil(vector_size));
        let (row_tiles, column_tiles, weight_tiles) = match pass {
            Pass::Forward => (1, 2, 1),
            Pass::QueryGradient => (2, 2, 1),
            Pass::KeyGradient => (2, 2, 2),
        };
        let tile_rows = row_tiles * tiling.rows() + column_tiles * tiling.columns();
        let values = tile_rows * tiling.stride() * vector_size;
        let weights =
            weight_tiles * tiling.rows() * tiling.weight_stride() * tiling.columns_per_unit;
        let scratch = if tiling.planes { 1 } else { tiling.units() };
        (values + weights + scratch) * size_of::<f32>()
    }

    /// The tile with the rows chosen for this process, if there is one. Otherwise the largest tile that leaves a compute unit room for a second cube, is no taller than the sequence and still
    /// makes a cube for each compute unit; where none does all of that, the smallest one that fits.
    fn pick(client: &Client, shape: Shape, pass: Pass) -> AttentionTile {
        let heads = match pass {
            Pass::Forward | Pass::QueryGradient => shape.heads,
            Pass::KeyGradient => shape.key_heads,
        };
        let available = client.properties().hardware.max_shared_memory_size;
        let comfortable = (available / 2).min(MOST_SHARED_MEMORY);
        let wanted = compute_units(client);
        let fits = |tile: &AttentionTile| tile.check(client, shape, 4, pass).is_ok();
        let good = |tile: &AttentionTile| {
            let cubes = shape.batch * heads * shape.seq.div_ceil(tile.rows());
            cubes >= wanted
                && tile.rows() <= shape.seq.next_power_of_two()
                && tile.shared_memory(client, shape, 4, pass) <= comfortable
        };
        if let Some(rows) = tunables::chosen(KERNEL)
            && let Some(tile) = candidates(shape.head_dim)
                .into_iter()
                .find(|tile| tile.rows() == rows)
        {
            return tile;
        }
        let [rest @ .., smallest] = candidates(shape.head_dim);
        rest.into_iter()
            .find(|tile| fits(tile) && good(tile))
            .or_else(|| rest.into_iter().rev().find(fits))
            .unwrap_or(smallest)
    }
}

/// Tiles from large to small: `units_x` follows `head_dim`, so that every unit owns whole vectors of an output row. The
/// last one is for devices with little shared memory.
pub(crate) fn candidates(head_dim: usize) -> [AttentionTile; 6] {
    let tile = |units_x, units_y, rows_per_unit, columns_per_unit| AttentionTile {
        units_x,
        units_y,
        rows_per_unit,
        columns_per_unit,
    };
    if head_dim <= 64 {
        [
            tile(8, 16, 4, 4),
            tile(8, 16, 2, 4),
            tile(8, 16, 2, 2),
            tile(8, 16, 1, 4),
            tile(8, 8, 1, 2),
            tile(8, 4, 1, 1),
        ]
    } else {
        [
            tile(16, 16, 2, 2),
            tile(16, 16, 2, 1),
            tile(16, 8, 2, 2),
            tile(16, 8, 2, 1),
            tile(16, 8, 1, 1),
            tile(8, 4, 1, 1),
        ]
    }
}
