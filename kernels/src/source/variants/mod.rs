//! Every kernel in every element type, at the sizes of the named configurations and with the block sizes that can be
//! chosen: what a compile gate has to cover.

mod launches;

use cubecl::ir::{ElemType, FloatKind};

#[cfg(feature = "rocm")]
use super::{CodeObject, record_code_objects};
use super::{Launch, Offline, SourceError, Target, record};
use crate::{KernelError, flash_attention};
use launches::{activation, add_norm, attention, loss, naive, norm, optimizer, turn};

type Launches = Box<dyn Fn(&Offline) -> Result<(), KernelError> + Send + Sync>;

/// One operation with all that is fixed when its kernels are compiled.
pub struct Variant {
    /// The operation, as in [`CATALOG`](crate::CATALOG).
    pub operation: &'static str,
    pub dtype: ElemType,
    /// Sizes and block sizes, as text.
    pub case: String,
    /// Whether it is the one to show where one is enough: the `small` configuration with its default block sizes.
    pub typical: bool,
    launches: Launches,
}

impl Variant {
    /// The launches of one forward and one backward pass; `None` where devices of this architecture are too small for the
    /// block sizes.
    pub fn launches(&self, target: &Target) -> Result<Option<Vec<Launch>>, SourceError> {
        match record(target, |device| (self.launches)(device)) {
            Ok(launches) => Ok(Some(launches)),
            Err(SourceError::Kernel(KernelError::Block { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The code objects of the same launches, by cubecl's route through LLVM; `None` as of [`launches`](Self::launches).
    #[cfg(feature = "rocm")]
    pub fn code_objects(&self, target: &Target) -> Result<Option<Vec<CodeObject>>, SourceError> {
        match record_code_objects(target, |device| (self.launches)(device)) {
            Ok(objects) => Ok(Some(objects)),
            Err(SourceError::Kernel(KernelError::Block { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The element type's name: `f32`, `bf16` or `f16`.
    pub fn dtype_name(&self) -> &'static str {
        match self.dtype {
            ElemType::Float(FloatKind::BF16) => "bf16",
            ElemType::Float(FloatKind::F16) => "f16",
            _ => "f32",
        }
    }
}

/// Sizes of a named configuration of the model, as far as kernels care.
#[derive(Clone, Copy)]
struct Sizes {
    name: &'static str,
    hidden: usize,
    layers: usize,
    heads: usize,
    key_heads: usize,
    ffn: usize,
    seq: usize,
    batch: usize,
}

const SIZES: [Sizes; 3] = [
    Sizes {
        name: "tiny",
        hidden: 256,
        layers: 4,
        heads: 8,
        key_heads: 4,
        ffn: 512,
        seq: 128,
        batch: 8,
    },
    Sizes {
        name: "small",
        hidden: 512,
        layers: 8,
        heads: 8,
        key_heads: 4,
        ffn: 2048,
        seq: 128,
        batch: 8,
    },
    Sizes {
        name: "medium",
        hidden: 1024,
        layers: 12,
        heads: 8,
        key_heads: 4,
        ffn: 4096,
        seq: 512,
        batch: 16,
    },
];

/// The configuration whose variants are typical, and at which block sizes are varied.
const TYPICAL: Sizes = SIZES[1];

/// Units of a cube, or of a row, that can be chosen.
const UNITS: [usize; 5] = [64, 128, 256, 512, 1024];

/// All variants, in the order of the catalog.
pub fn variants() -> Vec<Variant> {
    let dtypes = [FloatKind::F32, FloatKind::BF16, FloatKind::F16].map(ElemType::Float);
    let mut all = Vec::new();
    for dtype in dtypes {
        for sizes in SIZES {
            all.extend(of_sizes(sizes, dtype));
        }
        all.extend(of_blocks(dtype));
    }
    let order = |variant: &Variant| {
        crate::CATALOG
            .iter()
            .position(|entry| entry.name == variant.operation)
    };
    all.sort_by_key(order);
    all
}

/// Each operation at the sizes of a configuration, with default block sizes.
fn of_sizes(sizes: Sizes, dtype: ElemType) -> Vec<Variant> {
    let variant = |operation, launches| Variant {
        operation,
        dtype,
        case: sizes.name.to_string(),
        typical: sizes.name == TYPICAL.name,
        launches,
    };
    vec![
        variant(
            "rmsnorm",
            Box::new(move |device| norm(device, sizes, dtype, None)),
        ),
        variant(
            "add_rmsnorm",
            Box::new(move |device| add_norm(device, sizes, dtype)),
        ),
        variant(
            "rope",
            Box::new(move |device| turn(device, sizes, dtype, None)),
        ),
        variant(
            "flash_attention",
            Box::new(move |device| attention(device, sizes, dtype, None)),
        ),
        variant(
            "swiglu",
            Box::new(move |device| activation(device, sizes, dtype, None)),
        ),
        variant(
            "swiglu_naive",
            Box::new(move |device| naive(device, sizes, dtype, None)),
        ),
        variant(
            "cross_entropy",
            Box::new(move |device| loss(device, sizes, dtype, None)),
        ),
        variant(
            "adamw",
            Box::new(move |device| optimizer(device, sizes, dtype, None)),
        ),
    ]
}

/// Operations with the block sizes that can be chosen.
fn of_blocks(dtype: ElemType) -> Vec<Variant> {
    let sizes = TYPICAL;
    let variant = |operation, case: String, launches| Variant {
        operation,
        dtype,
        case: format!("{}, {case}", sizes.name),
        typical: false,
        launches,
    };
    let mut all = Vec::new();
    for units in UNITS {
        let row = format!("{units} units a row");
        let cube = format!("{units} units");
        all.extend([
            variant(
                "rmsnorm",
                row.clone(),
                Box::new(move |device: &Offline| norm(device, sizes, dtype, Some(units)))
                    as Launches,
            ),
            variant(
                "cross_entropy",
                row,
                Box::new(move |device: &Offline| loss(device, sizes, dtype, Some(units))),
            ),
            variant(
                "rope",
                cube.clone(),
                Box::new(move |device: &Offline| turn(device, sizes, dtype, Some(units))),
            ),
            variant(
                "swiglu",
                cube.clone(),
                Box::new(move |device: &Offline| activation(device, sizes, dtype, Some(units))),
            ),
            variant(
                "swiglu_naive",
                cube.clone(),
                Box::new(move |device: &Offline| naive(device, sizes, dtype, Some(units))),
            ),
            variant(
                "adamw",
                cube,
                Box::new(move |device: &Offline| optimizer(device, sizes, dtype, Some(units))),
            ),
        ]);
    }
    for sizes in SIZES {
        for tile in flash_attention::candidates(sizes.hidden / sizes.heads) {
            let case = format!(
                "{}, tile of {}x{} units, {} rows and {} columns each",
                sizes.name, tile.units_x, tile.units_y, tile.rows_per_unit, tile.columns_per_unit
            );
            all.push(Variant {
                operation: "flash_attention",
                dtype,
                case,
                typical: false,
                launches: Box::new(move |device| attention(device, sizes, dtype, Some(tile))),
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::CATALOG;

    /// Everything of the default block sizes has source on a wave64, a wave32 and a CUDA architecture.
    #[test]
    fn typical_variants_have_source_for_every_operation_and_type() {
        for name in ["gfx942", "gfx1100", "sm_90"] {
            let target = Target::parse(name).unwrap();
            let mut seen = HashSet::new();
            for variant in variants().into_iter().filter(|variant| variant.typical) {
                let launches = variant.launches(&target).unwrap().unwrap();
                assert!(!launches.is_empty(), "{} on {name}", variant.operation);
                for launch in launches {
                    assert!(launch.source.contains(&format!("{}(", launch.entry)));
                    assert!(
                        launch.threads().is_multiple_of(target.plane_size()),
                        "{}",
                        launch.kernel
                    );
                    assert!(launch.shared_memory_bytes <= 64 * 1024, "{}", launch.kernel);
                }
                seen.insert((variant.operation, variant.dtype_name()));
            }
            assert_eq!(seen.len(), 3 * CATALOG.len(), "{name}");
        }
    }

    /// Tiles too large for the local memory of one architecture are left out there, and only there.
    #[test]
    fn blocks_that_do_not_fit_are_told_apart_from_failures() {
        let large = variants().into_iter().find(|variant| {
            variant.operation == "flash_attention"
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
