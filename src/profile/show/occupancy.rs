//! Computes how many waves of a kernel fit into a compute unit, from the registers and local memory of its launch.

use itertools::Itertools;

use crate::model::{LaunchVariant, Profile, VariantId};
use crate::name;
use tinyllama_base::architecture::{self, Architecture, MAX_BARRIERS};
use tinyllama_base::named;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Percentage, or_not_reported, percent};

named! {
    /// The resource that limits the number of waves.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Limiter {
        /// Every slot is taken, so nothing else limits.
        WaveSlots = "wave slots",
        VectorRegisters = "vector registers",
        ScalarRegisters = "scalar registers",
        LocalMemory = "local memory",
        /// A compute unit holds at most 16 workgroups of several waves.
        Barriers = "barriers",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    pub waves_per_workgroup: u32,
    /// Waves that are resident at once, if the launch is large enough.
    pub waves_per_compute_unit: u32,
    pub max_waves_per_compute_unit: u32,
    /// The tightest limit. If several are equal, the first.
    pub limiter: Limiter,
}

impl Occupancy {
    /// From 0 to 100.
    pub fn percent(&self) -> Percentage {
        let most = f64::from(self.max_waves_per_compute_unit);
        Percentage(100.0 * f64::from(self.waves_per_compute_unit) / most)
    }
}

/// Theoretical occupancy. `None` if the launch's workgroup or registers are not reported, or if the workgroup cannot run.
pub fn occupancy(variant: &LaunchVariant, architecture: &Architecture) -> Option<Occupancy> {
    let size = u32::try_from(variant.workgroup_size()?).ok()?;
    let waves_per_workgroup = size.div_ceil(architecture.wave_size);
    let simds = architecture.simds_per_compute_unit;
    let max_waves = architecture.max_waves_per_simd * simds;
    let by_waves = |waves_per_simd: u32| waves_per_simd.saturating_mul(simds) / waves_per_workgroup;
    let slots = by_waves(architecture.max_waves_per_simd);
    let barriers = match waves_per_workgroup {
        0 | 1 => u32::MAX,
        _ => MAX_BARRIERS,
    };
    let vector = waves_by_vector_registers(variant, architecture)?;
    let scalar = waves_by_scalar_registers(variant, architecture);
    let local = workgroups_by_local_memory(variant, architecture);
    let limits = [
        (Limiter::WaveSlots, slots),
        (Limiter::VectorRegisters, by_waves(vector)),
        (Limiter::ScalarRegisters, by_waves(scalar)),
        (Limiter::LocalMemory, local),
        (Limiter::Barriers, barriers),
    ];
    let &(limiter, workgroups) = limits.iter().min_by_key(|(_, workgroups)| *workgroups)?;
    (workgroups > 0).then(|| Occupancy {
        waves_per_workgroup,

        waves_per_compute_unit: workgroups * waves_per_workgroup,
        max_waves_per_compute_unit: max_waves,
        limiter,
    })
}

fn waves_by_vector_registers(variant: &LaunchVariant, architecture: &Architecture) -> Option<u32> {
    let vector = variant.vgpr?;
    let accumulation = variant.accum_vgpr.unwrap_or(0);
    let granule = architecture.vector_register_granule;
    let used = if architecture.unified_registers {
        // Accumulation registers begin after the others, at a multiple of 4.
        vector.next_multiple_of(4).checked_add(accumulation)?
    } else {
        vector.max(accumulation)
    };
    let used = used.max(1).checked_next_multiple_of(granule)?;
    Some((architecture.vector_registers / used).min(architecture.max_waves_per_simd))
}

fn waves_by_scalar_registers(variant: &LaunchVariant, architecture: &Architecture) -> u32 {
    let (Some(file), Some(used)) = (architecture.scalar_registers, variant.sgpr) else {
        return architecture.max_waves_per_simd;
    };
    // Scalar registers are allocated in groups of 16.
    let used = used.max(1).checked_next_multiple_of(16).unwrap_or(u32::MAX);
    (file / used).min(architecture.max_waves_per_simd)
}

fn workgroups_by_local_memory(variant: &LaunchVariant, architecture: &Architecture) -> u32 {
    match variant.lds {
        None | Some(0) => u32::MAX,
        Some(bytes) => bytes
            .checked_next_multiple_of(architecture.lds_granule)
            .map_or(0, |allocated| architecture.lds / allocated),
    }
}

/// Occupancy of a launch, its waves, and the waves that the whole device could hold.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelOccupancy {
    pub variant: VariantId,
    pub occupancy: Occupancy,
    /// Waves of the launch.
    pub waves: Option<u64>,
    /// Waves of the launch that the device could hold at once.
    pub resident: Option<u64>,
}

/// Occupancy of every launch shape with known figures, in the order of their first appearance.
pub fn kernels(profile: &Profile) -> Vec<KernelOccupancy> {
    let launches = profile.dispatches.iter();
    let launches = launches.unique_by(|launch| launch.variant);
    let kernels = launches.filter_map(|launch| {
        let gpu = profile.gpu_of(launch.lane)?;
        let variant = profile.variant(launch.variant);
        let occupancy = occupancy(variant, architecture::find(&gpu.name)?)?;
        let waves_per_unit = u64::from(occupancy.waves_per_compute_unit);
        Some(KernelOccupancy {
            variant: launch.variant,
            waves: waves(variant, &occupancy),
            resident: gpu.compute_units.map(|units| units * waves_per_unit),
            occupancy,
        })
    });
    kernels.collect()
}

fn waves(variant: &LaunchVariant, occupancy: &Occupancy) -> Option<u64> {
    let items = variant
        .grid?
        .iter()
        .try_fold(1u64, |items, &axis| items.checked_mul(axis.max(1)))?;
    let workgroups = items.div_ceil(variant.workgroup_size()?);
    workgroups.checked_mul(u64::from(occupancy.waves_per_workgroup))
}

pub fn table(profile: &Profile, limit: usize) -> TextTable {
    let launch = |kernel: &KernelOccupancy| profile.variant(kernel.variant);
    let kernels = kernels(profile);
    let title = "Theoretical occupancy, from the registers and local memory of each launch";
    let columns = TableColumns::titled(title, &kernels)
        .first(limit)
        .left("kernel", |kernel| {
            name::short(profile.kernel_name(kernel.variant)).to_owned()
        })
        .right("workgroup", |kernel| {
            launch(kernel).workgroup_size().unwrap_or(0).to_string()
        })
        .right("VGPRs", |kernel| {
            let accumulation = launch(kernel).accum_vgpr.filter(|&count| count > 0);
            or_not_reported(launch(kernel).vgpr.map(|vector| match accumulation {
                Some(accumulation) => format!("{vector}+{accumulation}"),
                None => vector.to_string(),
            }))
        })
        .right("LDS", |kernel| {
            or_not_reported(launch(kernel).lds.map(|bytes| bytes.to_string()))
        })
        .right("occupancy", |kernel| percent(kernel.occupancy.percent()))
        .left("limited by", |kernel| kernel.occupancy.limiter.to_string())
        .right("waves / device", |kernel| {
            or_not_reported(kernel.waves.map(|waves| match kernel.resident {
                Some(resident) => format!("{waves} / {resident}"),
                None => waves.to_string(),
            }))
        });
    let mut table = TextTable::from(columns);
    if kernels.iter().any(|kernel| kernel.waves < kernel.resident) {
        table.note("a launch with fewer waves than the device holds leaves compute units empty at any occupancy");
    }
    table.note("register files and granules from LLVM's AMDGPU backend");
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Profile;

    fn launch(workgroup: u32, lds: u32, vgpr: u32, accum: u32, sgpr: u32) -> LaunchVariant {
        let mut profile = Profile::default();
        LaunchVariant {
            workgroup: Some([workgroup, 1, 1]),
            lds: Some(lds),
            vgpr: Some(vgpr),
            accum_vgpr: Some(accum),
            sgpr: Some(sgpr),
            ..LaunchVariant::unknown(profile.name_id("kernel"))
        }
    }

    fn occupancy_of(variant: LaunchVariant, architecture: &str) -> (f64, Limiter) {
        let occupancy = occupancy(&variant, architecture::find(architecture).unwrap()).unwrap();
        (occupancy.percent().0, occupancy.limiter)
    }

    /// Each case is computed by hand.
    #[test]
    fn limits_are_those_of_the_architecture() {
        use Limiter::{LocalMemory, ScalarRegisters, VectorRegisters, WaveSlots};
        let cases = [
            // 64 registers a lane: 512 / 64 = 8 waves, all slots.
            (launch(256, 0, 64, 0, 32), "gfx90a", 100.0, WaveSlots),
            // 72: 512 / 72 = 7 waves a SIMD, 28 a unit = 7 workgroups of 4 waves of at most 8.
            (launch(256, 0, 72, 0, 32), "gfx90a", 87.5, VectorRegisters),
            // 128 + 128 accumulation registers share one file on MI200: 512 / 256 = 2 waves.
            (
                launch(256, 0, 128, 128, 32),
                "gfx942",
                25.0,
                VectorRegisters,
            ),
            // On MI100 the two kinds have separate files: 256 / 128 = 2 waves of 10.
            (
                launch(256, 0, 128, 128, 32),
                "gfx908",
                20.0,
                VectorRegisters,
            ),
            // 32 KiB of 64: two workgroups of 4 waves of 32.
            (
                launch(256, 32 << 10, 32, 0, 32),
                "gfx942",
                25.0,
                LocalMemory,
            ),
            // MI350 has 160 KiB in pieces of 1280 bytes: 26 for a workgroup, so that 4 of them fit into 128, not 5.
            (
                launch(256, 32 << 10, 32, 0, 32),
                "gfx950",
                50.0,
                LocalMemory,
            ),
            // 112 scalar registers: 800 / 112 = 7 waves.
            (launch(64, 0, 32, 0, 112), "gfx90a", 87.5, ScalarRegisters),
            // 5 waves a workgroup fit 6 times into 32 slots: 30 of 32.
            (launch(320, 0, 32, 0, 32), "gfx90a", 93.75, WaveSlots),
            // RDNA 3: 1536 / 192 = 8 of 16 waves of 32 lanes.
            (launch(256, 0, 192, 0, 0), "gfx1100", 50.0, VectorRegisters),
        ];
        for (variant, architecture, percent, limiter) in cases {
            let expected = (percent, limiter);
            assert_eq!(
                occupancy_of(variant, architecture),
                expected,
                "{variant:?} on {architecture}"
            );
        }
    }

    #[test]
    fn figures_that_are_not_reported_give_no_occupancy() {
        let mut variant = launch(256, 0, 64, 0, 32);
        variant.vgpr = None;
        let mi300 = architecture::find("gfx942").unwrap();
        assert_eq!(occupancy(&variant, mi300), None);
        assert_eq!(
            occupancy(&launch(256, 80 << 10, 8, 0, 8), mi300),
            None,
            "more than a unit has"
        );
    }
}
