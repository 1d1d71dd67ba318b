//! Limits on how many waves an AMD compute unit holds.
//!
//! The figures come from LLVM's AMDGPU backend, which allocates these registers (`AMDGPUBaseInfo.cpp`: register file
//! sizes and granules, wave slots, local data share), and from AMD's instruction set guides.

/// Limits of one GPU architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// `gfx90a`.
    pub name: &'static str,
    /// Lanes of a wave in the mode that compilers usually choose for compute kernels.
    pub wave_size: u32,
    pub simds_per_compute_unit: u32,
    pub max_waves_per_simd: u32,
    /// Vector registers for each lane. All waves of a SIMD share them.
    pub vector_registers: u32,
    /// The hardware allocates vector registers in multiples of this number.
    pub vector_register_granule: u32,
    /// True if accumulation registers come from the same file (MI200 and later), false if they have a separate one
    /// (MI100).
    pub unified_registers: bool,
    /// Bytes of local data share in a compute unit.
    pub lds: u32,
    /// The hardware allocates local data share in multiples of this many bytes.
    pub lds_granule: u32,
    /// Scalar registers that all waves of a SIMD share; `None` if every wave has a full set.
    pub scalar_registers: Option<u32>,
}

/// Workgroups of several waves that a compute unit holds at most, because each needs a barrier.
pub const MAX_BARRIERS: u32 = 16;

const CDNA: Architecture = Architecture {
    name: "gfx90a",
    wave_size: 64,
    simds_per_compute_unit: 4,
    max_waves_per_simd: 8,
    vector_registers: 512,
    vector_register_granule: 8,
    unified_registers: true,
    lds: 64 << 10,
    lds_granule: 512,
    scalar_registers: Some(800),
};

/// Architectures with separate register files for vector and accumulation registers.
const GCN: Architecture = Architecture {
    max_waves_per_simd: 10,
    vector_registers: 256,
    vector_register_granule: 4,
    unified_registers: false,
    ..CDNA
};

const RDNA: Architecture = Architecture {
    name: "gfx1030",
    wave_size: 32,
    simds_per_compute_unit: 2,
    max_waves_per_simd: 16,
    vector_registers: 1024,
    vector_register_granule: 16,
    unified_registers: false,
    lds: 64 << 10,
    lds_granule: 512,
    scalar_registers: None,
};

/// RDNA 3 and 4 with the full register file.
const RDNA_FULL: Architecture = Architecture {
    name: "gfx1100",
    vector_registers: 1536,
    vector_register_granule: 24,
    lds_granule: 1024,
    ..RDNA
};

/// RDNA 3 with the register file of RDNA 2.
const RDNA_SMALL: Architecture = Architecture {
    name: "gfx1102",
    lds_granule: 1024,
    ..RDNA
};

const KNOWN: &[Architecture] = &[
    GCN.named("gfx906"),
    GCN.named("gfx908"),
    CDNA,
    CDNA.named("gfx940"),
    CDNA.named("gfx941"),
    CDNA.named("gfx942"),
    Architecture {
        name: "gfx950",
        lds: 160 << 10,
        lds_granule: 1280,
        ..CDNA
    },
    Architecture {
        name: "gfx1010",
        max_waves_per_simd: 20,
        vector_register_granule: 8,
        ..RDNA
    },
    RDNA,
    RDNA.named("gfx1031"),
    RDNA.named("gfx1032"),
    RDNA_FULL,
    RDNA_FULL.named("gfx1101"),
    RDNA_SMALL,
    RDNA_SMALL.named("gfx1103"),
    RDNA_SMALL.named("gfx1150"),
    RDNA_FULL.named("gfx1151"),
    RDNA_FULL.named("gfx1200"),
    RDNA_FULL.named("gfx1201"),
];

impl Architecture {
    /// A copy under another name, for an architecture with the same limits.
    const fn named(self, name: &'static str) -> Self {
        Architecture { name, ..self }
    }
}

/// Finds an architecture by `name`. Feature suffixes such as `:sramecc+:xnack-` do not count.
pub fn find(name: &str) -> Option<&'static Architecture> {
    let base = name.split(':').next().unwrap_or(name).trim();
    KNOWN.iter().find(|known| known.name == base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_do_not_hide_an_architecture() {
        assert_eq!(find("gfx90a:sramecc+:xnack-").unwrap().name, "gfx90a");
        assert!(find("gfx000").is_none());
    }
}
