//! Counts kernel launches while a run trains.

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

/// Counts every launch of the process until it is dropped. The cost is one atomic addition per launch.
///
/// It also counts launches with which tuning compares candidates. Its readers only want counts from after the warm-up.
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

    /// Returns the launches since the counter was started.
    pub fn total(&self) -> u64 {
        self.shared_counter().total()
    }

    /// Returns a handle that other threads can read.
    pub fn shared_counter(&self) -> LaunchCount {
        LaunchCount(self.counter.clone())
    }
}

/// Reads a [`LaunchCounter`].
#[derive(Clone)]
pub struct LaunchCount(Arc<Counter>);

impl LaunchCount {
    /// Returns the launches since the counter was started.
    pub fn total(&self) -> u64 {
        self.0.0.load(Ordering::Relaxed)
    }
}
