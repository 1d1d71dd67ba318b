//! Block sizes chosen for this process, which replace the kernels' choice for the device.
//!
//! A block size is fixed when a kernel is compiled, so choose it once, before the first launch.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use tinyllama_kernel_catalog::tunables::{TunableError, check};

static CHOSEN: RwLock<BTreeMap<&'static str, usize>> = RwLock::new(BTreeMap::new());

/// Uses `size` for `kernel` from now on.
///
/// # Errors
/// As for [`check`].
pub fn set(kernel: &str, size: usize) -> Result<(), TunableError> {
    let name = check(kernel, size)?;
    let mut chosen = CHOSEN.write().unwrap_or_else(PoisonError::into_inner);
    chosen.insert(name, size);
    Ok(())
}

/// Returns `here`, or the size that was chosen for this process.
#[cfg(feature = "gpu")]
pub(crate) fn or_chosen(kernel: &str, here: Option<usize>) -> Option<usize> {
    let chosen = || CHOSEN.read().unwrap_or_else(PoisonError::into_inner);
    here.or_else(|| chosen().get(kernel).copied())
}
