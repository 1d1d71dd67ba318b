//! Shapes, block sizes, and which of them suits a product on a device.

use cubecl::features::MmaConfig;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use tinyllama_kernel_catalog::matmul::MatmulShape;

use super::mma::Instruction;
use crate::launch::{F32, compute_units, plane_size};

/// How a cube computes its tile of the result, known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatmulBlock {
    /// `units[0] x units[1]` units, each of which computes `each[0] x each[1]` elements, `depth` of the sum at a time.
    Fma {
        units: [usize; 2],
        each: [usize; 2],
        depth: usize,
    },
    /// The same for planes, which use matrix units.
    Mma {
        planes: [usize; 2],
        each: [usize; 2],
        depth: usize,
    },
}

impl MatmulBlock {
    /// Returns rows and columns of a cube's tile.
    pub const fn tile(&self) -> [usize; 2] {
        match *self {
            MatmulBlock::Fma { units, each, .. } => [units[0] * each[0], units[1] * each[1]],
            MatmulBlock::Mma { planes, each, .. } => [planes[0] * each[0], planes[1] * each[1]],
        }
    }

    /// Returns the elements of the sum that a cube holds in shared memory.
    pub const fn depth(&self) -> usize {
        match *self {
            MatmulBlock::Fma { depth, .. } | MatmulBlock::Mma { depth, .. } => depth,
        }
    }
}

/// A block, and the number of parts into which the sum is divided. Each part has its own cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatmulPlan {
    pub block: MatmulBlock,
    pub parts: usize,
}

impl MatmulPlan {
    /// Returns the plan by multiply-adds, for any device and type.
    pub(super) fn fma(client: &Client, shape: MatmulShape) -> Self {
        let block = MatmulBlock::Fma {
            units: [8, 16],
            each: [8, 4],
            depth: 16,
        };
        MatmulPlan::divided(block, shape, 2 * compute_units(client))
    }

    /// Divides the sum of a product in parts of 128 or more, until there are `cubes` cubes.
    fn divided(block: MatmulBlock, shape: MatmulShape, cubes: usize) -> Self {
        let [rows, columns] = block.tile();
        let tiles = shape.m.div_ceil(rows) * shape.n.div_ceil(columns);
        let most = (shape.k / 128).clamp(1, 8);
        let parts = (cubes / tiles).clamp(1, most);
        MatmulPlan { block, parts }
    }

    /// Returns the elements of f32 that parts of the result need; 0 if there is one part.
    pub fn workspace(&self, shape: MatmulShape) -> usize {
        match self.steps(shape)[2] {
            1 => 0,
            parts => parts * shape.m * shape.n,
        }
    }

    /// Returns the steps of the sum, those of a part, and the number of parts that have any.
    pub(super) fn steps(&self, shape: MatmulShape) -> [usize; 3] {
        let all = shape.k.div_ceil(self.block.depth()).max(1);
        let part = all.div_ceil(self.parts.max(1));
        [all, part, all.div_ceil(part)]
    }
}

/// Returns the type that operands have on matrix units.
pub(super) fn staged(dtype: ElemType) -> ElemType {
    match dtype {
        ElemType::Float(FloatKind::F32) => ElemType::Float(FloatKind::TF32),
        other => other,
    }
}

/// Returns the instruction for operands of this type, if the device has one whose registers the kernel can fill: tf32 for
/// f32, and 16-bit types that one instruction loads from shared memory.
pub(super) fn instruction(client: &Client, dtype: ElemType) -> Option<Instruction> {
    plane_size(client)?;
    let staged = staged(dtype);
    let matmul = &client.features().matmul;
    let loads = matmul.ldmatrix.contains(&staged);
    if dtype != F32 && !loads {
        return None;
    }
    let suits = |config: &&MmaConfig| {
        config.a_type == staged && config.b_type == staged && config.cd_type == F32
    };
    let config = matmul
        .mma
        .iter()
        .filter(suits)
        .max_by_key(|config| config.k)?;
    Some(Instruction {
        m: config.m as usize,
        n: config.n as usize,
        k: config.k as usize,
        loads,
    })
}

/// Returns the plan for a product, or `None` where this kernel is not faster than the library's.
///
/// Blocks and cubes for each compute unit are those that took the products of a training step the shortest time in sum on an
/// NVIDIA H200 (`docs/measurements/training.md`).
pub fn plan(client: &Client, shape: MatmulShape, dtype: ElemType) -> Option<MatmulPlan> {
    #[rustfmt::skip]
    let (block, cubes) = match instruction(client, dtype) {
        Some(_) if dtype == F32 => (MatmulBlock::Mma { planes: [4, 2], each: [32, 64], depth: 32 }, 1),
        Some(_) => (MatmulBlock::Mma { planes: [2, 2], each: [64, 32], depth: 64 }, 1),
        None if dtype == F32 => return Some(MatmulPlan::fma(client, shape)),
        None => return None,
    };
    Some(MatmulPlan::divided(
        block,
        shape,
        cubes * compute_units(client),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: MatmulBlock = MatmulBlock::Mma {
        planes: [2, 2],
        each: [32, 64],
        depth: 32,
    };

    fn parts(m: usize, n: usize, k: usize) -> usize {
        MatmulPlan::divided(BLOCK, MatmulShape { m, n, k }, 264).parts
    }

    #[test]
    fn sums_are_divided_until_the_device_is_full() {
        assert_eq!(parts(1024, 4096, 512), 1, "512 tiles");
        assert_eq!(parts(1024, 1024, 512), 2, "128 tiles");
        assert_eq!(parts(1024, 512, 4096), 4, "64 tiles");
        assert_eq!(parts(512, 512, 4096), 8, "32 tiles");
        assert_eq!(parts(64, 64, 4096), 8, "never more");
        assert_eq!(parts(64, 64, 200), 1, "parts of 128 or more");
    }

    #[test]
    fn every_part_has_steps_and_a_place() {
        for (k, wanted) in [(1, 1), (32, 1), (33, 2), (100, 3), (1000, 5), (4096, 8)] {
            let shape = MatmulShape { m: 64, n: 128, k };
            let plan = MatmulPlan {
                block: BLOCK,
                parts: wanted,
            };
            let [all, part, parts] = plan.steps(shape);
            assert_eq!(all, k.div_ceil(32), "{k}");
            assert!(
                (parts - 1) * part < all && all <= parts * part,
                "{k}: {all} {part} {parts}"
            );
            let places = if parts == 1 { 0 } else { parts };
            assert_eq!(plan.workspace(shape), places * 64 * 128, "{k}");
        }
    }
}
