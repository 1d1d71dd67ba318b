//! Counts kernel launches while a run trains.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::gpu::{LaunchObservation, count_launches};

/// Counts every launch of the process until it is dropped. The cost is one atomic addition per launch.
///
/// It also counts launches with which tuning compares candidates. Its readers only want counts from after the warm-up.
pub struct LaunchCounter {
    count: LaunchCount,
    _observation: LaunchObservation,
}

impl LaunchCounter {
    pub fn start() -> Self {
        let count = Arc::new(AtomicU64::new(0));
        LaunchCounter {
            _observation: count_launches(count.clone()),
            count: LaunchCount(count),
        }
    }

    /// Returns the launches since the counter was started.
    pub fn total(&self) -> u64 {
        self.count.total()
    }

    /// Returns a handle that other threads can read.
    pub fn shared_counter(&self) -> LaunchCount {
        self.count.clone()
    }
}

/// Reads a [`LaunchCounter`].
#[derive(Clone)]
pub struct LaunchCount(Arc<AtomicU64>);

impl LaunchCount {
    /// Returns the launches since the counter was started.
    pub fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
