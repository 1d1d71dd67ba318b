//! Block sizes of the attention kernels: the candidates, those that fit, and the default.

use cubecl::prelude::*;
use tinyllama_kernel_catalog::flash_attention::{AttentionShape, AttentionTile, tile_candidates};

use super::NAME;
use super::tile::Tiling;
use crate::{
    KernelError,
    launch::{compute_units, plane_size},
    tunables,
};

/// With more rows, a unit's scores and sums fit no register file.
const MOST_ROWS_PER_UNIT: usize = 16;

/// Block sizes of the three kernels, known at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlashAttentionBlock {
    pub forward: AttentionTile,
    pub query_gradient: AttentionTile,
    pub key_gradient: AttentionTile,
}

/// The three kernels, as far as block sizes depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttentionPass {
    Forward,
    QueryGradient,
    KeyGradient,
}

impl AttentionPass {
    /// Returns the number of heads over which the kernel's cubes are distributed.
    fn heads(self, shape: AttentionShape) -> usize {
        match self {
            AttentionPass::Forward | AttentionPass::QueryGradient => shape.heads,
            AttentionPass::KeyGradient => shape.key_heads,
        }
    }
}

impl FlashAttentionBlock {
    /// Uses the same tile for every kernel.
    pub fn uniform(tile: AttentionTile) -> FlashAttentionBlock {
        FlashAttentionBlock {
            forward: tile,
            query_gradient: tile,
            key_gradient: tile,
        }
    }

    /// Returns whether the kernels and the device support all three tiles.
    pub(super) fn fits(&self, client: &Client, shape: AttentionShape) -> bool {
        let fits = |tile: AttentionTile, pass| check_tile(tile, client, shape, 4, pass).is_ok();
        fits(self.forward, AttentionPass::Forward)
            && fits(self.query_gradient, AttentionPass::QueryGradient)
            && fits(self.key_gradient, AttentionPass::KeyGradient)
    }

    /// Uses candidate number `tile` for every kernel, or chooses block sizes for this device and shape.
    pub fn new(client: &Client, shape: AttentionShape, tile: Option<usize>) -> FlashAttentionBlock {
        let candidates = tile_candidates(shape.head_dim);
        if let Some(tile) = tile.and_then(|tile| candidates.get(tile)) {
            return FlashAttentionBlock::uniform(*tile);
        }
        FlashAttentionBlock {
            forward: pick_tile(client, shape, AttentionPass::Forward),
            query_gradient: pick_tile(client, shape, AttentionPass::QueryGradient),
            key_gradient: pick_tile(client, shape, AttentionPass::KeyGradient),
        }
    }
}

/// The launch of a kernel: one cube for each block of rows of each head of each sequence.
pub(super) struct AttentionGrid {
    pub count: CubeCount,
    pub dim: CubeDim,
    pub tiling: Tiling,
}

impl AttentionGrid {
    /// Creates the grid. Refuses a tile that the kernels or the device cannot run, and a grid with too many cubes for
    /// one launch.
    pub fn new(
        client: &Client,
        tile: AttentionTile,
        shape: AttentionShape,
        size: VectorSize,
        pass: AttentionPass,
    ) -> Result<AttentionGrid, KernelError> {
        check_tile(tile, client, shape, size, pass)?;
        let (heads, blocks) = (pass.heads(shape), shape.seq.div_ceil(tile.rows()));
        let limit = client.properties().hardware.max_cube_count;
        if heads > limit.0 as usize || shape.batch > limit.1 as usize || blocks > limit.2 as usize {
            let reason = format!(
                "{heads} heads x {} sequences x {blocks} blocks is more than the {limit:?} cubes this device launches at once",
                shape.batch
            );
            return Err(KernelError::Shape(NAME, reason));
        }
        let tiling = tile_tiling(tile, client, shape.head_dim / size);
        Ok(AttentionGrid {
            count: CubeCount::Static(heads as u32, shape.batch as u32, blocks as u32),
            dim: CubeDim::new_1d(tiling.units() as u32),
            tiling,
        })
    }
}

/// Divides a tile among the units of a cube; a row has `vectors` vectors.
fn tile_tiling(tile: AttentionTile, client: &Client, vectors: usize) -> Tiling {
    Tiling {
        units_x: tile.units_x,
        units_y: tile.units_y,
        rows_per_unit: tile.rows_per_unit,
        columns_per_unit: tile.columns_per_unit,
        vectors,
        planes: plane_size(client).is_some_and(|plane| plane.is_multiple_of(tile.units_x)),
    }
}

/// Refuses a block that the kernels or the device cannot run.
fn check_tile(
    tile: AttentionTile,
    client: &Client,
    shape: AttentionShape,
    vector_size: VectorSize,
    pass: AttentionPass,
) -> Result<(), KernelError> {
    let hardware = &client.properties().hardware;
    let units = tile.units_x.saturating_mul(tile.units_y);
    let (units_x, units_y) = (tile.units_x, tile.units_y);
    let (rows_per_unit, columns_per_unit) = (tile.rows_per_unit, tile.columns_per_unit);
    let reason = if !units_x.is_power_of_two() {
        format!("units_x is {units_x}, not a power of two")
    } else if units_y == 0 {
        "units_y must be at least 1".to_string()
    } else if !(1..=MOST_ROWS_PER_UNIT).contains(&rows_per_unit) {
        format!("rows_per_unit is {rows_per_unit}, not 1 to {MOST_ROWS_PER_UNIT}")
    } else if ![1, 2, 4].contains(&columns_per_unit) {
        format!("columns_per_unit is {columns_per_unit}, not 1, 2 or 4")
    } else if units > hardware.max_units_per_cube as usize {
        let most = hardware.max_units_per_cube;
        format!("{units} units a cube, the device allows {most}")
    } else {
        let bytes = shared_memory(tile, client, shape, vector_size, pass);
        let most = hardware.max_shared_memory_size;
        if bytes <= most {
            return Ok(());
        }
        format!("{bytes} bytes of shared memory, the device has {most}; use fewer rows or columns")
    };
    Err(KernelError::Block(NAME, reason))
}

/// Returns the bytes of shared memory per cube.
fn shared_memory(
    tile: AttentionTile,
    client: &Client,
    shape: AttentionShape,
    vector_size: VectorSize,
    pass: AttentionPass,
) -> usize {
    let tiling = tile_tiling(tile, client, shape.head_dim.div_ceil(vector_size));
    let (row_tiles, column_tiles, weight_tiles) = match pass {
        AttentionPass::Forward => (1, 2, 1),
        AttentionPass::QueryGradient => (2, 2, 1),
        AttentionPass::KeyGradient => (2, 2, 2),
    };
    let tile_rows = row_tiles * tiling.rows() + column_tiles * tiling.columns();
    let values = tile_rows * tiling.stride() * vector_size;
    let weights = weight_tiles * tiling.rows() * tiling.weight_stride() * tiling.columns_per_unit;
    let scratch = if tiling.planes { 1 } else { tiling.units() };
    (values + weights + scratch) * size_of::<f32>()
}

/// Picks the largest tile that meets three conditions: a compute unit has room for a second cube, the tile is no taller than
/// the sequence, and there is a cube for each compute unit. If none meets all three, it takes the smallest tile that fits. Where
/// rows were chosen for this process, only the first condition counts among the tiles that have them.
fn pick_tile(client: &Client, shape: AttentionShape, pass: AttentionPass) -> AttentionTile {
    let heads = pass.heads(shape);
    let room = client.properties().hardware.max_shared_memory_size / 2;
    let wanted = compute_units(client);
    let candidates = tile_candidates(shape.head_dim);
    let fits = |tile: &&AttentionTile| check_tile(**tile, client, shape, 4, pass).is_ok();
    let is_roomy = |tile: &&AttentionTile| shared_memory(**tile, client, shape, 4, pass) <= room;
    let is_good = |tile: &&AttentionTile| {
        let cubes = shape.batch * heads * shape.seq.div_ceil(tile.rows());
        cubes >= wanted && tile.rows() <= shape.seq.next_power_of_two() && is_roomy(tile)
    };
    let chosen = tunables::or_chosen(NAME, None);
    let has_chosen = |tile: &&AttentionTile| chosen == Some(tile.rows());
    let (all, larger) = (candidates.iter(), candidates[..candidates.len() - 1].iter());
    *all.clone()
        .filter(has_chosen)
        .find(is_roomy)
        .or_else(|| all.clone().find(has_chosen))
        .or_else(|| larger.clone().filter(fits).find(is_good))
        .or_else(|| larger.clone().rev().find(fits))
        .unwrap_or(&candidates[candidates.len() - 1])
}
