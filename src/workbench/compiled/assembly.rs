//! Reads AMDGPU assembly as clang writes it: a kernel's metadata note and its instructions.

use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum AssemblyError {
    #[error(
        "the assembly has no metadata: it is not for an AMD GPU, or the compiler was interrupted"
    )]
    NoMetadata,
    #[error("the metadata of the assembly: {0}")]
    AssemblyMetadata(#[from] serde_yaml::Error),
    #[error("the assembly has no kernel `{0}`")]
    NoKernel(String),
}

/// Resources of a compute unit that one kernel takes, as the compiler chose them. Names of fields that are not explained
/// here are LLVM's (AMDGPU usage guide, code object metadata).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// The target triple with its architecture, `amdgcn-amd-amdhsa--gfx942`.
    #[serde(default)]
    pub target: String,
    #[serde(alias = ".wavefront_size")]
    pub wave_size: u32,
    /// Vector registers a lane. Accumulation registers are included if both come from one file.
    #[serde(alias = ".vgpr_count")]
    pub vgprs: u32,
    /// Accumulation registers a lane, a part of the vector registers. `None` if the architecture has none.
    #[serde(alias = ".agpr_count", default)]
    pub agprs: u32,
    /// Scalar registers a wave.
    #[serde(alias = ".sgpr_count")]
    pub sgprs: u32,
    #[serde(alias = ".vgpr_spill_count")]
    pub vgpr_spills: u32,
    #[serde(alias = ".sgpr_spill_count")]
    pub sgpr_spills: u32,
    /// Bytes of private memory a lane: spilled registers and arrays with computed indices.
    #[serde(alias = ".private_segment_fixed_size")]
    pub scratch_bytes: u32,
}

#[derive(Deserialize)]
struct AssemblyMetadata {
    #[serde(rename = "amdhsa.target")]
    target: String,
    #[serde(rename = "amdhsa.kernels")]
    kernels: Vec<KernelMetadata>,
}

#[derive(Deserialize)]
struct KernelMetadata {
    #[serde(rename = ".name")]
    name: String,
    #[serde(rename = ".group_segment_fixed_size")]
    fixed_lds_bytes: u32,
    #[serde(flatten)]
    resources: Resources,
}

/// Returns the resources of the kernel `entry`, and the bytes of local memory per workgroup that the code fixes. A launch
/// may add more.
///
/// # Errors
/// Fails if the assembly has no metadata, or the metadata cannot be parsed or lacks the kernel.
pub fn resources(assembly: &str, entry: &str) -> Result<(Resources, u32), AssemblyError> {
    let body = assembly.split_once(".amdgpu_metadata");
    let yaml =
        body.and_then(|(_, body)| body.split_once('\n')?.1.split_once(".end_amdgpu_metadata"));
    let (yaml, _) = yaml.ok_or(AssemblyError::NoMetadata)?;
    let metadata = serde_yaml::from_str(yaml.trim_end_matches([' ', '\t']))?;
    let AssemblyMetadata { target, kernels } = metadata;
    let kernel = kernels.into_iter().find(|kernel| kernel.name == entry);
    let kernel = kernel.ok_or_else(|| AssemblyError::NoKernel(entry.to_owned()))?;
    let resources = Resources {
        target,
        ..kernel.resources
    };
    Ok((resources, kernel.fixed_lds_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"
\t.section\t.text.k,\"axG\",@progbits,k,comdat
k:                                      ; @k
; %bb.0:
\ts_load_dwordx2 s[0:1], s[2:3], 0x0
\t.p2align\t6
.LBB0_1:                                ; =>This Inner Loop Header
\tv_add_f32_e32 v0, v1, v2
\ts_endpgm
\t.section\t.rodata,\"a\",@progbits
\t.amdhsa_kernel k
.Lfunc_end0:
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:           []
    .group_segment_fixed_size: 512
    .max_flat_workgroup_size: 128
    .name:           k
    .private_segment_fixed_size: 24
    .sgpr_count:     18
    .sgpr_spill_count: 1
    .vgpr_count:     31
    .vgpr_spill_count: 2
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

\t.end_amdgpu_metadata
";

    #[test]
    fn figures_come_from_the_metadata() {
        let (resources, fixed_lds_bytes) = resources(ASSEMBLY, "k").unwrap();
        assert_eq!(fixed_lds_bytes, 512);
        assert_eq!(
            resources,
            Resources {
                target: "amdgcn-amd-amdhsa--gfx942".into(),
                wave_size: 64,
                vgprs: 31,
                agprs: 0,
                sgprs: 18,
                vgpr_spills: 2,
                sgpr_spills: 1,
                scratch_bytes: 24,
            }
        );
    }

    #[test]
    fn assembly_of_something_else_is_an_error() {
        assert!(matches!(
            resources("\tret\n", "k"),
            Err(AssemblyError::NoMetadata)
        ));
        assert!(matches!(
            resources(ASSEMBLY, "j"),
            Err(AssemblyError::NoKernel(_))
        ));
        let cut = &ASSEMBLY[..ASSEMBLY.find(".sgpr_count").unwrap()];
        assert!(matches!(
            resources(cut, "k"),
            Err(AssemblyError::NoMetadata)
        ));
        let strange = ASSEMBLY.replace(".vgpr_count:     31", ".vgpr_count:     many");
        assert!(matches!(
            resources(&strange, "k"),
            Err(AssemblyError::AssemblyMetadata(_))
        ));
    }
}
