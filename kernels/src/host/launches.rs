//! Counts and times this project's kernels on a CPU.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// Gets the name of each kernel, its start and its end.
type Observer = Box<dyn FnMut(&'static str, Instant, Instant) + Send>;

static LAUNCHED: AtomicU64 = AtomicU64::new(0);
static OBSERVER: Mutex<Option<Observer>> = Mutex::new(None);

/// Returns how many kernels this process has run on the CPU.
pub fn launched() -> u64 {
    LAUNCHED.load(Ordering::Relaxed)
}

/// Calls `observer` after every kernel until the result is dropped. A later observer takes the place of an earlier one.
pub fn observe(
    observer: impl FnMut(&'static str, Instant, Instant) + Send + 'static,
) -> HostObservation {
    *current() = Some(Box::new(observer));
    HostObservation(())
}

/// Ends the observation when dropped.
#[must_use = "the observation ends as soon as it is dropped"]
pub struct HostObservation(());

impl Drop for HostObservation {
    fn drop(&mut self) {
        *current() = None;
    }
}

/// Runs one pass of a kernel and counts it.
pub(crate) fn launch<R>(kernel: &'static str, pass: impl FnOnce() -> R) -> R {
    LAUNCHED.fetch_add(1, Ordering::Relaxed);
    let started = Instant::now();
    let result = pass();
    if let Some(observer) = current().as_mut() {
        observer(kernel, started, Instant::now());
    }
    result
}

fn current() -> MutexGuard<'static, Option<Observer>> {
    // An observer that panicked has no state that a later one needs.
    OBSERVER
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_kernel_is_counted_and_its_observer_gets_its_name_and_time() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        let observation = observe(move |kernel, start, end| {
            sink.lock().unwrap().push((kernel, end >= start));
        });
        let before = launched();
        assert_eq!(launch("a_kernel_of_this_test", || 7), 7);
        // Kernels of other tests are counted too.
        assert!(launched() > before);
        drop(observation);
        launch("not_observed", || ());
        let seen = seen.lock().unwrap();
        assert!(seen.contains(&("a_kernel_of_this_test", true)));
        assert!(seen.iter().all(|(kernel, _)| *kernel != "not_observed"));
    }
}
