//! Burn's process-wide settings: fusion, and the caches that make a second start fast.

use std::sync::Once;

use super::CacheSettings;
use crate::gpu;

/// Applies `settings` and turns the persistent caches on. Call it before the first use of a device.
///
/// The user's `cubecl.toml` or `burn.toml` stays valid for everything that this function does not set. Only the first
/// call in a process has an effect.
pub fn configure_runtime(settings: CacheSettings) {
    static SETTLED: Once = Once::new();
    SETTLED.call_once(|| gpu::configure(settings));
}
