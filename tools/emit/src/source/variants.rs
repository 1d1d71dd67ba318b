//! Lists every kernel in every element type, at the sizes of the named configurations and with all selectable block
//! sizes. A compile check has to cover them all.

use cubecl::ir::{ElemType, FloatKind};
use cubecl::{prelude::Client, server::Handle};
use tinyllama_kernel_catalog::{KernelDescriptor, StepSizes};
use tinyllama_kernels::{BufferContent, BufferSource, CODE, KernelCode, KernelError};

#[cfg(feature = "rocm")]
use super::{CodeObject, record_code_objects};
use super::{Offline, SourceError, SourceLaunch, Target, record};

/// A kernel with everything that is fixed when it is compiled.
pub struct KernelVariant {
    code: &'static KernelCode,
    pub dtype: ElemType,
    /// Sizes and block sizes, as text.
    pub case: String,
    /// True for the variant to show if one is enough: the typical sizes with their default block sizes.
    pub typical: bool,
    sizes: StepSizes,
    block: Option<usize>,
}

impl KernelVariant {
    pub fn kernel(&self) -> &'static KernelDescriptor {
        self.code.kernel
    }

    /// Returns the launches of every pass; `None` if devices of this architecture are too small for the block sizes.
    ///
    /// # Errors
    /// As for [`record`].
    pub fn launches(&self, target: &Target) -> Result<Option<Vec<SourceLaunch>>, SourceError> {
        fitting(record(target, |device| self.launch(device)))
    }

    /// Returns the code objects of the same launches, made by cubecl through LLVM; `None` as for [`launches`](Self::launches).
    #[cfg(feature = "rocm")]
    pub fn code_objects(&self, target: &Target) -> Result<Option<Vec<CodeObject>>, SourceError> {
        fitting(record_code_objects(target, |device| self.launch(device)))
    }

    fn launch(&self, mut device: &Offline) -> Result<(), KernelError> {
        let launch = (self.code.workload)(&mut device, &self.sizes, self.dtype, self.block);
        let mut passes = self.kernel().passes.iter();
        passes.try_for_each(|pass| launch(pass.name))
    }

    /// Returns the element type's name: `f32`, `bf16` or `f16`.
    pub fn dtype_name(&self) -> &'static str {
        match self.dtype {
            ElemType::Float(FloatKind::BF16) => "bf16",
            ElemType::Float(FloatKind::F16) => "f16",
            _ => "f32",
        }
    }
}

fn fitting<T>(recorded: Result<T, SourceError>) -> Result<Option<T>, SourceError> {
    match recorded {
        Err(SourceError::Kernel(KernelError::Block(..))) => Ok(None),
        recorded => recorded.map(Some),
    }
}

impl BufferSource for &Offline {
    fn client(&self) -> &Client {
        Offline::client(self)
    }

    fn buffer(
        &mut self,
        name: &str,
        elements: usize,
        dtype: ElemType,
        _: BufferContent<'_>,
    ) -> Handle {
        Offline::buffer(self, name, elements * dtype.size())
    }
}

/// Returns all variants at the named sizes, of which one is typical.
pub fn variants(sizes: &[(String, StepSizes)], typical: &str) -> Vec<KernelVariant> {
    let mut all = Vec::new();
    for code in &CODE {
        for dtype in [FloatKind::F32, FloatKind::BF16, FloatKind::F16].map(ElemType::Float) {
            let variant = |case: String, typical, sizes, block| KernelVariant {
                code,
                dtype,
                case,
                typical,
                sizes,
                block,
            };
            for (name, sizes) in sizes {
                all.push(variant(name.clone(), name == typical, *sizes, None));
            }
            for (name, sizes) in sizes {
                let blocks = code
                    .kernel
                    .block_size
                    .filter(|block| block.depends_on_sizes || name == typical);
                for (block, sizes_text) in
                    blocks.map_or_else(Vec::new, |block| (block.compiled)(sizes))
                {
                    all.push(variant(
                        format!("{name}, {sizes_text}"),
                        false,
                        *sizes,
                        Some(block),
                    ));
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn small() -> Vec<KernelVariant> {
        let sizes = StepSizes {
            batch: 8,
            sequence: 128,
            hidden: 512,
            layers: 8,
            heads: 8,
            key_heads: 4,
            ffn: 2048,
            vocabulary: 1000,
        };
        variants(&[("small".to_string(), sizes)], "small")
    }

    /// Every kernel with default block sizes has source on a wave64, a wave32 and a CUDA architecture.
    #[test]
    fn typical_variants_have_source_for_every_operation_and_type() {
        for name in ["gfx942", "gfx1100", "sm_90"] {
            let target = Target::parse(name).unwrap();
            let mut seen = HashSet::new();
            for variant in small().into_iter().filter(|variant| variant.typical) {
                let launches = variant.launches(&target).unwrap().unwrap();
                assert!(!launches.is_empty(), "{} on {name}", variant.kernel().name);
                for launch in launches {
                    assert!(launch.source.contains(&format!("{}(", launch.entry)));
                    assert!(
                        launch.threads().is_multiple_of(target.plane_size()),
                        "{}",
                        launch.kernel
                    );
                    assert!(launch.shared_memory_bytes <= 64 * 1024, "{}", launch.kernel);
                }
                seen.insert((variant.kernel().name, variant.dtype_name()));
            }
            assert_eq!(seen.len(), 3 * CODE.len(), "{name}");
        }
    }

    /// Tiles too large for the local memory of one architecture are left out for it, and only for it.
    #[test]
    fn blocks_that_do_not_fit_are_told_apart_from_failures() {
        let large = small().into_iter().find(|variant| {
            variant.kernel().name == "flash_attention"
                && variant.case.contains("small, tile of 8x16 units, 4 rows")
        });
        let large = large.unwrap();
        assert!(
            large
                .launches(&Target::hip("gfx942").unwrap())
                .unwrap()
                .is_none()
        );
        assert!(
            large
                .launches(&Target::cuda(90).unwrap())
                .unwrap()
                .is_some()
        );
    }
}
