//! Counting kernel launches while a run goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::cubecl::logging::{LaunchObservation, LaunchObserver};

#[derive(Default)]
struct Counter(AtomicU64);

impl LaunchObserver for Counter {
    fn launched(&self, _kernel: &'static str) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts every launch of the process until dropped; costs one atomic addition a launch.
///
/// Launches that tuning makes to compare candidates count too: they are only wanted once warm-up is over.
pub struct LaunchCounter {
    counter: Arc<Counter>,
    _observation: LaunchObservation,
}

impl LaunchCounter {
    pub fn start() -> Self {
        let counter = Arc::new(Counter::default());
        LaunchCounter {
            _observation: LaunchObservation::new(counter.clone()),
            counter,
        }
    }

    /// Launches since the counter was started.
    pub fn total(&self) -> u64 {
        self.share().total()
    }

    /// A handle other threads can read.
    pub fn share(&self) -> LaunchCount {
        LaunchCount(self.counter.clone())
    }
}

/// Reads a [`LaunchCounter`].
#[derive(Clone)]
pub struct LaunchCount(Arc<Counter>);

impl LaunchCount {
    /// Launches since the counter was started.
    pub fn total(&self) -> u64 {
        self.0.0.load(Ordering::Relaxed)
    }
}
