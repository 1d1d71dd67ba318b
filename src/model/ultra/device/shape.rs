//! Which models the kernels cover, and the sides of their blocks.

use std::fmt;

use anyhow::{Result, bail};

use crate::device::driver::Properties;
use crate::model::ModelConfig;

/// What matrix products are computed from. Sums, parameters, moments and the residual stream are f32 in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixPrecision {
    F32,
    /// f32 in memory, rounded to 10 bits of mantissa for the matrix cores.
    Tf32,
    Bf16,
}

impl MatrixPrecision {
    /// Bytes of an activation that products read.
    pub fn operand_bytes(self) -> usize {
        match self {
            MatrixPrecision::F32 | MatrixPrecision::Tf32 => 4,
            MatrixPrecision::Bf16 => 2,
        }
    }
}

impl fmt::Display for MatrixPrecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            MatrixPrecision::F32 => "f32",
            MatrixPrecision::Tf32 => "tf32",
            MatrixPrecision::Bf16 => "bf16",
        })
    }
}

/// What may be chosen by hand instead of from the device's properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Rows of an attention tile: 16, 32 or 64.
    pub tile: Option<usize>,
    /// Kernels are started before the work in front of them has ended, where the device can, and wait by themselves.
    pub overlapping: bool,
    /// Blocks of the main lane are placed before those of other lanes.
    pub urgent: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            tile: None,
            overlapping: true,
            urgent: true,
        }
    }
}

/// Threads that exchange values among themselves in the kernels.
pub const TEAM: usize = 32;

/// Rows of an attention tile, largest first.
const TILES: [usize; 3] = [64, 32, 16];

/// Widest head whose rows of an attention tile fit a thread's registers.
const WIDEST_HEAD: usize = 256;

/// Bytes of shared memory of the attention kernels, forward and backward.
pub fn attention_shared(
    config: &ModelConfig,
    precision: MatrixPrecision,
    tile: usize,
) -> [usize; 2] {
    let row = config.head_dim().next_multiple_of(16) + 8;
    let operands = tile * row * precision.operand_bytes();
    [3 * operands, 4 * operands + 2 * tile * 4]
}

/// The largest tile that shared memory holds, no longer than the sequence; smaller where the device would be idle.
pub fn tile(
    config: &ModelConfig,
    precision: MatrixPrecision,
    properties: &Properties,
    tuning: &Tuning,
) -> Option<usize> {
    let fits = |tile: &usize| {
        let [_, backward] = attention_shared(config, precision, *tile);
        backward <= properties.shared_per_block_most
    };
    if let Some(wanted) = tuning.tile {
        return TILES.into_iter().filter(fits).find(|tile| *tile <= wanted);
    }
    let longest = config.sequence_length.next_multiple_of(16);
    let blocks =
        |tile: usize| config.batch_size * config.heads * config.sequence_length.div_ceil(tile);
    let candidates: Vec<usize> = TILES
        .into_iter()
        .filter(|tile| fits(tile) && *tile <= longest.max(16))
        .collect();
    // A tile for at least half the compute units; among those that cannot, the one with the most blocks.
    let busy = |tile: &usize| blocks(*tile) * 2 >= properties.compute_units as usize;
    candidates
        .iter()
        .copied()
        .find(busy)
        .or(candidates.last().copied())
}

/// Teams of a block of the norm's backward pass: each keeps a row of f32 sums in shared memory.
pub fn norm_teams(config: &ModelConfig, properties: &Properties) -> usize {
    (properties.shared_per_block / (4 * config.hidden)).min(8)
}

/// Refuses a model that the kernels do not cover on this device.
pub fn check(
    config: &ModelConfig,
    precision: MatrixPrecision,
    properties: &Properties,
) -> Result<()> {
    if config.head_dim() > WIDEST_HEAD {
        bail!(
            "heads are {} wide; V4's attention kernel takes up to {WIDEST_HEAD}: use more --heads or another target",
            config.head_dim()
        );
    }
    if norm_teams(config, properties) == 0 {
        bail!(
            "--hidden {} needs {} bytes of shared memory for a row of sums; {} has {}",
            config.hidden,
            4 * config.hidden,
            properties.name,
            properties.shared_per_block
        );
    }
    if tile(config, precision, properties, &Tuning::default()).is_none() {
        bail!(
            "heads {} wide in {precision} need more shared memory than the {} bytes {} has: use more --heads",
            config.head_dim(),
            properties.shared_per_block_most,
            properties.name
        );
    }
    // Grid sizes in y and z.
    let most = 65_535;
    if config.batch_size > most || config.heads + config.kv_heads > most {
        bail!("V4 takes up to {most} samples and heads");
    }
    Ok(())
}
