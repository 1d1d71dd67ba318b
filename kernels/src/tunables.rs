//! Block sizes chosen for this process, in place of those the kernels pick from the device.
//!
//! A block size is fixed when a kernel is compiled, so the choice is made once, before the first launch.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use crate::kernel::BlockSize;
use crate::{KERNELS, KernelError};

static CHOSEN: RwLock<BTreeMap<&'static str, usize>> = RwLock::new(BTreeMap::new());

/// Every kernel with a block size.
pub fn all() -> impl Iterator<Item = (&'static str, BlockSize)> {
    KERNELS
        .iter()
        .filter_map(|kernel| Some((kernel.name, kernel.block_size?)))
}

/// Finds the kernel of this name, which can have this block size.
///
/// # Errors
/// [`KernelError::Tunable`] naming what there is.
pub fn check(kernel: &str, size: usize) -> Result<&'static str, KernelError> {
    let Some((name, block)) = all().find(|(name, _)| *name == kernel) else {
        let names: Vec<&str> = all().map(|(name, _)| name).collect();
        return Err(KernelError::Tunable(format!(
            "no kernel `{kernel}` has a block size; these have: {}",
            names.join(", ")
        )));
    };
    if !block.sizes.contains(&size) {
        return Err(KernelError::Tunable(format!(
            "{kernel} cannot have {size} {}; it can have one of {:?}",
            block.counts, block.sizes
        )));
    }
    Ok(name)
}

/// Takes `size` for `kernel` from now on.
///
/// # Errors
/// As [`check`].
pub fn set(kernel: &str, size: usize) -> Result<(), KernelError> {
    let name = check(kernel, size)?;
    let mut chosen = CHOSEN.write().unwrap_or_else(PoisonError::into_inner);
    chosen.insert(name, size);
    Ok(())
}

/// What is chosen here for `kernel`, or was chosen for this process.
pub(crate) fn or_chosen(kernel: &str, here: Option<usize>) -> Option<usize> {
    let chosen = || CHOSEN.read().unwrap_or_else(PoisonError::into_inner);
    here.or_else(|| chosen().get(kernel).copied())
}
