//! What a run asks of burn and its caches.

use tinyllama_contract::Tuning;

/// Settings of the runtime that a run asks for.
#[derive(Clone, Copy, Debug)]
pub struct CacheSettings {
    /// True if burn may fuse neighbouring operations into one kernel.
    pub fusion: bool,
    pub tuning: Tuning,
}
