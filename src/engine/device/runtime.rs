//! Burn's process-wide settings: fusion, and the caches that make a second start fast.

use std::sync::Once;

use tinyllama_contract::Tuning;

use crate::gpu;

/// Settings of the runtime that a run asks for.
#[derive(Clone, Copy, Debug)]
pub struct CacheSettings {
    /// True if burn may fuse neighbouring operations into one kernel.
    pub fusion: bool,
    pub tuning: Tuning,
}

/// Applies `settings` and turns the persistent caches on. Call it before the first use of a device.
///
/// The user's `cubecl.toml` or `burn.toml` stays valid for everything that this function does not set. Only the first
/// call in a process has an effect.
pub fn configure_runtime(settings: CacheSettings) {
    static SETTLED: Once = Once::new();
    SETTLED.call_once(|| gpu::configure(settings));
}
