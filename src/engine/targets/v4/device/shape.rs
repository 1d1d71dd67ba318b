//! The models that the kernels cover, and the sizes of their blocks.

use anyhow::{Result, bail};

use crate::device::driver::{GemmPrecision, Properties, Vendor};
use crate::model::ModelConfig;

/// Threads that exchange values with each other in the kernels.
pub const TEAM: usize = 32;

/// Row counts of attention tiles, largest first.
const TILES: [usize; 3] = [64, 32, 16];

/// Widest head for which the rows of an attention tile fit a thread's registers.
const WIDEST_HEAD: usize = 256;

/// Widest head for WMMA. With wider heads WMMA spills more registers to memory than the code without it.
const WIDEST_HEAD_OF_WMMA: usize = 128;

/// Rows of a warpgroup, its threads, and warpgroups per block, as the sources declare.
const SIDE: usize = 64;
const WARPGROUP: usize = 128;
const WARPGROUPS: usize = 2;

/// Bytes of samples that attention by warpgroups processes together. The second-level cache holds them in addition to
/// other data.
const CACHED: usize = 32 << 20;

/// Longest sequence whose forward pass is faster in tiles than by warpgroups, which need queries and keys rotated in advance.
const LONGEST_FORWARD_IN_TILES: usize = 128;

/// Matrix cores for which the attention kernels have special instructions. The general sources cover NVIDIA's other
/// matrix cores, and devices without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixCores {
    None,
    /// CDNA: bf16, f32 without rounding, and on gfx942 f32 rounded like tf32.
    Mfma,
    /// RDNA 3 and 4: 16-bit operands only.
    Wmma,
    /// Hopper, whose instructions take whole warpgroups: bf16, heads 64 or 128 wide.
    Warpgroups,
}

impl MatrixCores {
    /// Returns the matrix cores of a device that have instructions for these operands.
    pub fn choose(config: &ModelConfig, precision: GemmPrecision, properties: &Properties) -> Self {
        let narrow = config.head_dim() <= WIDEST_HEAD_OF_WMMA;
        let bf16 = precision == GemmPrecision::Bf16;
        match (properties.vendor, &*properties.arch) {
            (Vendor::Nvidia, "sm_90") if bf16 && matches!(config.head_dim(), 64 | 128) => {
                MatrixCores::Warpgroups
            }
            (Vendor::Amd, "gfx90a" | "gfx942" | "gfx950") => MatrixCores::Mfma,
            // gfx908 has another instruction for bf16.
            (Vendor::Amd, "gfx908") if !bf16 => MatrixCores::Mfma,
            (Vendor::Amd, arch)
                if bf16 && narrow && (arch.starts_with("gfx11") || arch.starts_with("gfx120")) =>
            {
                MatrixCores::Wmma
            }
            _ => MatrixCores::None,
        }
    }

    /// Returns the number of lanes that multiply together.
    fn team(self) -> usize {
        match self {
            MatrixCores::Mfma => 64,
            _ => TEAM,
        }
    }

    /// Returns the unit to whose multiples the width of a head is padded.
    fn head_unit(self) -> usize {
        match self {
            MatrixCores::Mfma | MatrixCores::Wmma => 32,
            _ => 16,
        }
    }
}

/// The block of an attention kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionBlock {
    pub cores: MatrixCores,
    /// Rows of a tile.
    pub tile: usize,
    /// Groups of threads, each with its own tiles.
    pub groups: usize,
}

impl AttentionBlock {
    const BY_WARPGROUPS: AttentionBlock = AttentionBlock {
        cores: MatrixCores::Warpgroups,
        tile: SIDE,
        groups: WARPGROUPS,
    };

    pub fn threads(&self) -> usize {
        match self.cores {
            MatrixCores::Warpgroups => self.groups * WARPGROUP,
            cores => self.tile / 16 * cores.team() * self.groups,
        }
    }

    /// Returns the blocks of a launch, forward and backward. A block of warpgroups takes two neighbouring tiles of a
    /// head's queries, or a tile of keys.
    pub fn grids(&self, config: &ModelConfig) -> [[usize; 3]; 2] {
        let tiles = config.sequence_length.div_ceil(self.tile);
        let samples = config.batch_size;
        if self.cores == MatrixCores::Warpgroups {
            let (heads, keys) = (config.heads, config.kv_heads);
            let queries = heads * tiles.div_ceil(self.groups);
            // The second number counts the heads that a pass reads and writes.
            let passes = [
                (queries, 2 * heads + 2 * keys),
                (queries + keys * tiles, 5 * heads + 5 * keys),
            ];
            return passes.map(|(blocks, heads)| {
                let bytes = heads * config.head_dim() * config.sequence_length * 2;
                let most = (CACHED / bytes).clamp(1, samples);
                let mut counts = (1..=most).rev();
                let together = counts.find(|count| samples.is_multiple_of(*count));
                let together = together.unwrap_or(1);
                [together * blocks, samples / together, 1]
            });
        }
        let heads = [config.heads, config.heads + config.kv_heads];
        heads.map(|heads| [tiles, heads, samples])
    }

    /// Returns the bytes of shared memory, forward and backward.
    pub fn shared(&self, config: &ModelConfig, precision: GemmPrecision) -> [usize; 2] {
        if self.cores == MatrixCores::Warpgroups {
            // Forward: queries of both warpgroups, and keys and values twice. Backward: what keys need, or queries.
            // Aligned to the plates' pattern.
            let plate = SIDE * config.head_dim() * 2;
            return [6, 12].map(|plates| plates * plate + 1024);
        }
        let operand = precision.element_bytes();
        let row = config.head_dim().next_multiple_of(self.cores.head_unit()) + 16 / operand;
        let tile = self.tile * row * operand;
        let statistics = self.groups * 2 * self.tile * 4;
        [
            (1 + 2 * self.groups) * tile,
            (2 + 2 * self.groups) * tile + statistics,
        ]
    }
}

/// The blocks of the forward and the backward attention kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionBlocks {
    pub forward: AttentionBlock,
    pub backward: AttentionBlock,
}

/// Chooses the largest tiles that fit shared memory and registers and are no longer than the sequence. Tiles become
/// smaller if the device would be partly idle. A second group of threads is added if it has work and fits.
pub fn attention_blocks(
    config: &ModelConfig,
    precision: GemmPrecision,
    properties: &Properties,
    cores: MatrixCores,
) -> Option<AttentionBlocks> {
    let wanted = cores == MatrixCores::Warpgroups;
    let cores = if wanted { MatrixCores::None } else { cores };
    let by_warpgroups = |backward: bool| {
        let block = AttentionBlock::BY_WARPGROUPS;
        let shared = block.shared(config, precision)[usize::from(backward)];
        let pays = backward || config.sequence_length > LONGEST_FORWARD_IN_TILES;
        (wanted && pays && shared <= properties.shared_per_block_most).then_some(block)
    };
    let choose = |tiles: &[usize], backward: bool| {
        let fits = |block: &AttentionBlock| {
            let shared = block.shared(config, precision)[usize::from(backward)];
            shared <= properties.shared_per_block_most
                && block.threads() <= properties.max_threads_per_block as usize
        };
        let with_groups = |tile: usize| {
            // A second group takes another tile of keys, or, backward, another query head of the same keys.
            let heads = if backward {
                config.heads / config.kv_heads
            } else {
                1
            };
            let most = (config.sequence_length.div_ceil(tile) * heads).min(2);
            let mut blocks = (1..=most).rev().map(|groups| AttentionBlock {
                cores,
                tile,
                groups,
            });
            blocks.find(fits)
        };
        let longest = config.sequence_length.next_multiple_of(16).max(16);
        let candidates: Vec<AttentionBlock> = tiles
            .iter()
            .copied()
            .filter(|tile| *tile <= longest)
            .filter_map(with_groups)
            .collect();
        // There should be blocks for at least half the compute units. If no tile gives as many, the one with the most
        // blocks is taken.
        let heads = config.heads + if backward { config.kv_heads } else { 0 };
        let busy = |block: &&AttentionBlock| {
            let tiles = config.sequence_length.div_ceil(block.tile);
            2 * config.batch_size * heads * tiles >= properties.compute_units as usize
        };
        candidates.iter().find(busy).or(candidates.last()).copied()
    };
    // With tiles of 128 rows, the sums of wider heads do not fit the registers of so large a block.
    let backward_tiles = if config.head_dim() <= 64 {
        &[128, 64, 32, 16][..]
    } else {
        &TILES
    };
    Some(AttentionBlocks {
        forward: by_warpgroups(false).or_else(|| choose(&TILES, false))?,
        backward: by_warpgroups(true).or_else(|| choose(backward_tiles, true))?,
    })
}

/// Returns the teams per block of the norm's backward pass. Each keeps a row of f32 sums in shared memory.
pub fn norm_teams(config: &ModelConfig, properties: &Properties) -> usize {
    (properties.shared_per_block / (4 * config.hidden)).min(8)
}

/// Refuses a model that the kernels do not cover on this device.
pub fn check(
    config: &ModelConfig,
    precision: GemmPrecision,
    properties: &Properties,
) -> Result<()> {
    if config.head_dim() > WIDEST_HEAD {
        bail!(
            "heads are {} wide; V4's attention kernel takes up to {WIDEST_HEAD}: use more --heads or another target",
            config.head_dim()
        );
    }
    if norm_teams(config, properties) == 0 {
        let (hidden, needed) = (config.hidden, 4 * config.hidden);
        let (device, has) = (&properties.name, properties.shared_per_block);
        bail!(
            "--hidden {hidden} needs {needed} bytes of shared memory for a row of sums; {device} has {has}"
        );
    }
    let cores = MatrixCores::choose(config, precision, properties);
    if attention_blocks(config, precision, properties, cores).is_none() {
        bail!(
            "heads {} wide in {precision} need more shared memory than the {} bytes {} has: use more --heads",
            config.head_dim(),
            properties.shared_per_block_most,
            properties.name
        );
    }
    // Limit of grid sizes in y and z.
    let most = 65_535;
    if config.batch_size > most || config.heads + config.kv_heads > most {
        bail!("V4 takes up to {most} samples and heads");
    }
    Ok(())
}
