//! Block sizes chosen for this process, in place of those the kernels pick from the device.
//!
//! A block size is fixed when a kernel is compiled, so the choice is made once, before the first launch.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use crate::KernelError;

/// What can be chosen for one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunable {
    pub kernel: &'static str,
    /// What the number counts.
    pub counts: &'static str,
    pub sizes: &'static [usize],
}

const UNITS_PER_CUBE: &str = "units in a cube";
const UNITS_PER_ROW: &str = "units that share a row";
const CUBE_SIZES: &[usize] = &[32, 64, 128, 256, 512, 1024];
const ROW_SIZES: &[usize] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// Every kernel with a block size, and the sizes worth trying. A device may refuse the largest.
pub const TUNABLES: [Tunable; 7] = [
    Tunable {
        kernel: "rmsnorm",
        counts: UNITS_PER_ROW,
        sizes: ROW_SIZES,
    },
    Tunable {
        kernel: "rope",
        counts: UNITS_PER_CUBE,
        sizes: CUBE_SIZES,
    },
    Tunable {
        kernel: "flash_attention",
        counts: "rows of a score tile",
        sizes: &[4, 8, 16, 32, 64],
    },
    Tunable {
        kernel: "swiglu",
        counts: UNITS_PER_CUBE,
        sizes: CUBE_SIZES,
    },
    Tunable {
        kernel: "swiglu_naive",
        counts: UNITS_PER_CUBE,
        sizes: CUBE_SIZES,
    },
    Tunable {
        kernel: "cross_entropy",
        counts: UNITS_PER_ROW,
        sizes: ROW_SIZES,
    },
    Tunable {
        kernel: "adamw",
        counts: UNITS_PER_CUBE,
        sizes: CUBE_SIZES,
    },
];

static CHOSEN: RwLock<BTreeMap<&'static str, usize>> = RwLock::new(BTreeMap::new());

/// The tunable of `kernel`, with `size` among its sizes.
///
/// # Errors
/// [`KernelError::Tunable`] naming what there is.
pub fn check(kernel: &str, size: usize) -> Result<Tunable, KernelError> {
    let tunable = TUNABLES
        .into_iter()
        .find(|tunable| tunable.kernel == kernel)
        .ok_or_else(|| {
            let names = TUNABLES.map(|tunable| tunable.kernel).join(", ");
            KernelError::Tunable {
                reason: format!("no kernel `{kernel}` has a block size; these have: {names}"),
            }
        })?;
    if !tunable.sizes.contains(&size) {
        return Err(KernelError::Tunable {
            reason: format!(
                "{kernel} cannot have {size} {}; it can have one of {:?}",
                tunable.counts, tunable.sizes
            ),
        });
    }
    Ok(tunable)
}

/// Takes `size` for `kernel` from now on.
///
/// # Errors
/// As [`check`].
pub fn set(kernel: &str, size: usize) -> Result<(), KernelError> {
    let tunable = check(kernel, size)?;
    CHOSEN
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(tunable.kernel, size);
    Ok(())
}

/// What was chosen for `kernel`.
pub fn chosen(kernel: &str) -> Option<usize> {
    CHOSEN
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .get(kernel)
        .copied()
}
