//! The tile of scores on which a cube works, and the candidates for it.

use crate::kernel::StepSizes;

block! {
    /// Layout of a cube, and the share of each of its units.
    ///
    /// A cube has `units_x * units_y` units and works on score tiles of `units_y * rows_per_unit` rows and `units_x *
    /// columns_per_unit` columns. Rows are queries in the forward kernel and in the kernel for query gradients. They
    /// are keys in the kernel for key and value gradients.
    AttentionTile {
        units_x: "units that share a row of the tile; a power of two",
        units_y: "rows of units in a cube",
        rows_per_unit: "rows each unit works on",
        columns_per_unit: "columns each unit works on; 1, 2 or 4, since its weights of one row are one vector",
    }
}

impl AttentionTile {
    /// Returns the rows of the tile.
    pub const fn rows(&self) -> usize {
        self.units_y * self.rows_per_unit
    }
}

/// Returns the number and description of every candidate.
pub(super) fn compiled(sizes: &StepSizes) -> Vec<(usize, String)> {
    let described = |tile: &AttentionTile| {
        format!(
            "tile of {}x{} units, {} rows and {} columns each",
            tile.units_x, tile.units_y, tile.rows_per_unit, tile.columns_per_unit
        )
    };
    let candidates = tile_candidates(sizes.head_dim());
    candidates.iter().map(described).enumerate().collect()
}

/// Returns tiles from large to small; of those with as many rows, the one with more columns first. `units_x` follows
/// `head_dim`, so that every unit owns whole vectors of an output row. The last tile is for devices with little shared memory.
pub fn tile_candidates(head_dim: usize) -> &'static [AttentionTile] {
    match head_dim {
        0..=32 => &UP_TO_32,
        33..=64 => &UP_TO_64,
        _ => &WIDER,
    }
}

const UP_TO_32: [AttentionTile; 6] = [
    AttentionTile::new(8, 16, 4, 4),
    AttentionTile::new(8, 16, 2, 4),
    AttentionTile::new(8, 16, 2, 2),
    AttentionTile::new(8, 16, 1, 4),
    AttentionTile::new(8, 8, 1, 2),
    AttentionTile::new(8, 4, 1, 1),
];

/// The same, and two with 64 columns.
const UP_TO_64: [AttentionTile; 8] = [
    UP_TO_32[0],
    AttentionTile::new(16, 8, 4, 4),
    UP_TO_32[1],
    UP_TO_32[2],
    AttentionTile::new(16, 8, 2, 4),
    UP_TO_32[3],
    UP_TO_32[4],
    UP_TO_32[5],
];

const WIDER: [AttentionTile; 6] = [
    AttentionTile::new(16, 16, 2, 2),
    AttentionTile::new(16, 16, 2, 1),
    AttentionTile::new(16, 8, 2, 2),
    AttentionTile::new(16, 8, 2, 1),
    AttentionTile::new(16, 8, 1, 1),
    AttentionTile::new(8, 4, 1, 1),
];
