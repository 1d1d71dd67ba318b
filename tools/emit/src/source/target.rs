//! Architectures for which source can be emitted, and the properties that their devices would report.

use std::fmt;

use cubecl::ir::{
    DeviceIdentity, DeviceProperties, HardwareProperties, MemoryDeviceProperties, VectorSize,
    amd::GfxArch, features::Plane,
};
use cubecl_core::profile::TimingMethod;
use cubecl_cpp::{
    register_supported_types,
    shared::{Architecture, CompilationOptions, CppSupportedFeatures},
};

use super::{InfoPassing, SourceError};

/// Assumed bytes of device memory: enough for any shape that 32-bit indices reach.
const MEMORY: u64 = 1 << 40;

/// An architecture that cubecl does not know, with waves of 64 lanes. Only V4's kernels, which are written by hand, run on it.
const WITHOUT_CUBECL: &str = "gfx950";

/// An architecture, and its number of compute units, on which default block sizes depend.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub(super) architecture: Arch,
    compute_units: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arch {
    Hip(String),
    Cuda(u32),
}

impl Target {
    /// Parses an AMD architecture from its `gfx` name; ignores a suffix of target features (`:xnack-`).
    ///
    /// # Errors
    /// Fails if `name` is no AMD architecture with a known wave size.
    pub fn hip(name: &str) -> Result<Target, SourceError> {
        let gfx = GfxArch::parse(name);
        if gfx.plane_dim().is_none() && name != WITHOUT_CUBECL {
            return Err(SourceError::UnknownArchitecture(name.to_string()));
        }
        // These are the driver's counts: on RDNA it counts work-group processors of two compute units.
        let compute_units = match gfx.name() {
            "gfx90a" => Some(104), // MI210
            "gfx942" => Some(304), // MI300X
            "gfx950" => Some(256), // MI350X
            "gfx1030" => Some(40), // RX 6900 XT
            "gfx1100" => Some(48), // RX 7900 XTX
            "gfx1151" => Some(20), // Radeon 8060S
            "gfx1200" => Some(16), // RX 9060 XT
            "gfx1201" => Some(32), // RX 9070 XT
            _ => None,
        };
        Ok(Target {
            architecture: Arch::Hip(gfx.name().to_string()),
            compute_units,
        })
    }

    /// Returns an NVIDIA architecture for its compute capability: 90 is 9.0. Accepts 7.0 and later.
    ///
    /// # Errors
    /// Fails for a compute capability below 7.0.
    pub fn cuda(capability: u32) -> Result<Target, SourceError> {
        if !(70..200).contains(&capability) {
            return Err(SourceError::UnknownArchitecture(format!("sm_{capability}")));
        }
        let compute_units = match capability {
            80 => Some(108), // A100
            90 => Some(132), // H100 SXM, H200
            _ => None,
        };
        Ok(Target {
            architecture: Arch::Cuda(capability),
            compute_units,
        })
    }

    /// Parses the compilers' name of an architecture: `gfx…` or `sm_…`.
    ///
    /// # Errors
    /// Fails for an unknown name.
    pub fn parse(name: &str) -> Result<Target, SourceError> {
        match name.strip_prefix("sm_") {
            Some(capability) => capability
                .parse()
                .map_err(|_| SourceError::UnknownArchitecture(name.to_string()))
                .and_then(Target::cuda),
            None => Target::hip(name),
        }
    }

    /// Returns the threads of a warp or wavefront.
    pub fn plane_size(&self) -> u32 {
        match &self.architecture {
            Arch::Hip(name) => GfxArch::parse(name).plane_dim().unwrap_or(64),
            Arch::Cuda(_) => 32,
        }
    }

    /// Returns whether cubecl emits source for this architecture.
    pub fn has_emitted_source(&self) -> bool {
        !matches!(&self.architecture, Arch::Hip(name) if name == WITHOUT_CUBECL)
    }

    /// Returns the compute units of the device for which default block sizes are chosen; `None` if none is assumed.
    pub fn compute_units(&self) -> Option<u32> {
        self.compute_units
    }

    pub fn is_hip(&self) -> bool {
        matches!(self.architecture, Arch::Hip(_))
    }

    pub(super) fn info_passing(&self) -> InfoPassing {
        match self.architecture {
            Arch::Hip(_) => InfoPassing::Pointer,
            Arch::Cuda(_) => InfoPassing::Value,
        }
    }

    /// Returns the options that cubecl's own runtimes pass to their code generator for this architecture.
    pub(super) fn compilation_options(&self) -> CompilationOptions {
        let mut features = CppSupportedFeatures {
            fast_math: true,
            ..Default::default()
        };
        match &self.architecture {
            Arch::Hip(name) => {
                let gfx = GfxArch::parse(name);
                CompilationOptions {
                    warp_size: gfx.family().warp_size() as usize,
                    supports_features: features,
                    amd_wmma: gfx.wmma(),
                }
            }
            Arch::Cuda(capability) => {
                features.dp4a = true;
                features.grid_constants = true;
                features.fast_tanh = *capability >= 75;
                features.clusters = *capability >= 90;
                features.elect_sync = *capability >= 90;
                CompilationOptions {
                    warp_size: 32,
                    supports_features: features,
                    amd_wmma: None,
                }
            }
        }
    }

    /// Returns the properties that a device of this architecture would report, as far as the launch functions read them.
    pub(super) fn device_properties(&self) -> DeviceProperties {
        let plane = self.plane_size();
        let (shared_memory, bindings, largest_grid) = match self.architecture {
            Arch::Hip(_) => (64 * 1024, 1024, (i32::MAX as u32, 65_535, 65_535)),
            Arch::Cuda(capability) => {
                let shared_memory = match capability {
                    80 | 87 => 163 * 1024,
                    90.. => 227 * 1024,
                    _ => 96 * 1024,
                };
                (shared_memory, 1024, (i32::MAX as u32, 65_535, 65_535))
            }
        };
        let hardware = HardwareProperties {
            load_width: 128,
            vector_register_count: None,
            plane_size_min: plane,
            plane_size_max: plane,
            max_bindings: bindings,
            max_shared_memory_size: shared_memory,
            max_cube_count: largest_grid,
            max_units_per_cube: 1024,
            max_cube_dim: (1024, 1024, if self.is_hip() { 1024 } else { 64 }),
            num_streaming_multiprocessors: self.compute_units,
            num_tensor_cores: None,
            min_tensor_cores_dim: None,
            num_cpu_cores: None,
            last_level_cache_size: None,
            max_vector_size: VectorSize::MAX,
            cube_mma_reserved_shared_memory: 0,
        };
        let name = format!("{self} (no device: source only)");
        let mut properties = DeviceProperties::new(
            Default::default(),
            MemoryDeviceProperties::new(MEMORY, 256),
            hardware,
            TimingMethod::System,
            DeviceIdentity {
                fingerprint: format!("source-{self}"),
                name,
                physical: None,
            },
        );
        register_supported_types(&mut properties);
        properties.features.memory_reinterpret = true;
        properties.features.alignment = true;
        properties.features.device_memory_scope = true;
        properties.features.plane.insert(Plane::Ops);
        properties
            .features
            .plane
            .insert(Plane::NonUniformControlFlow);
        properties
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.architecture {
            Arch::Hip(name) => f.write_str(name),
            Arch::Cuda(capability) => write!(f, "sm_{capability}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tinyllama_engine::device::check_architecture;

    use super::*;

    #[test]
    fn wavefronts_are_64_on_cdna_and_32_elsewhere() {
        for (name, plane) in [
            ("gfx90a", 64),
            ("gfx942:sramecc+:xnack-", 64),
            ("gfx1100", 32),
            ("sm_90", 32),
        ] {
            assert_eq!(Target::parse(name).unwrap().plane_size(), plane, "{name}");
        }
    }

    /// The engine refuses by name what burn's client would refuse by a panic.
    #[test]
    fn burn_knows_the_wave_size_of_what_the_engine_lists_and_of_nothing_else() {
        for arch in ["gfx803", "gfx900", "gfx906", "gfx90c", "gfx950", "gfx1250"]
            .into_iter()
            .chain(["gfx908", "gfx90a", "gfx940", "gfx942", "gfx1010", "gfx1012"])
            .chain(["gfx1030", "gfx1036", "gfx1100", "gfx1151", "gfx1201"])
        {
            let listed = check_architecture("AMD Instinct", arch).is_ok();
            let known = Target::hip(arch).is_ok_and(|target| target.has_emitted_source());
            assert_eq!(known, listed, "{arch}");
        }
    }

    #[test]
    fn unknown_architectures_are_refused() {
        for name in ["gfx9999", "sm_9x", "sm_30", "", "hopper"] {
            let error = Target::parse(name).unwrap_err();
            assert!(
                matches!(error, SourceError::UnknownArchitecture(_)),
                "{name}"
            );
        }
    }
}
