//! Counts kernel launches while a run trains.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tinyllama_kernels::host;

use crate::gpu::{LaunchObservation, count_launches};

/// Counts launches of the process until it is dropped. The cost is one atomic addition per launch.
///
/// On a GPU it also counts launches with which tuning compares candidates. Its readers only want counts from after the
/// warm-up.
pub struct LaunchCounter {
    count: LaunchCount,
    _observation: Option<LaunchObservation>,
}

impl LaunchCounter {
    /// Counts every launch on a GPU.
    pub fn start() -> Self {
        let count = Arc::new(AtomicU64::new(0));
        LaunchCounter {
            _observation: Some(count_launches(count.clone())),
            count: LaunchCount::OnGpu(count),
        }
    }

    /// Counts this project's kernels on the CPU. burn's own operations there are function calls, which nobody counts.
    pub fn start_on_cpu() -> Self {
        LaunchCounter {
            _observation: None,
            count: LaunchCount::OnCpu {
                before: host::launched(),
            },
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
pub enum LaunchCount {
    OnGpu(Arc<AtomicU64>),
    OnCpu { before: u64 },
}

impl LaunchCount {
    /// Returns the launches since the counter was started.
    pub fn total(&self) -> u64 {
        match self {
            LaunchCount::OnGpu(count) => count.load(Ordering::Relaxed),
            LaunchCount::OnCpu { before } => host::launched() - before,
        }
    }
}
