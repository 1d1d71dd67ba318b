//! Observes every kernel that burn's runtime launches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use burn::cubecl::future::block_on;
pub use burn::cubecl::logging::LaunchObservation;
use burn::cubecl::logging::{
    Duration as LaunchDuration, LaunchObserver, ProfileDuration, TimingMethod, TimingRequest,
};
use burn::tensor::Device;
use parking_lot::Mutex;

use super::attribution::Attribution;
use crate::model::Part;
use crate::train::KernelLaunch;

struct Counter(Arc<AtomicU64>);

impl LaunchObserver for Counter {
    fn launched(&self, _kernel: &'static str) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Adds one to `count` for every launch of the process, until the returned observation is dropped.
pub fn count_launches(count: Arc<AtomicU64>) -> LaunchObservation {
    LaunchObservation::new(Arc::new(Counter(count)))
}

struct LaunchRecord {
    kernel: &'static str,
    part: Part,
    fused_operations: Option<usize>,
    /// Not read yet.
    timing: Option<ProfileDuration>,
}

struct Observer {
    launched: Mutex<Vec<LaunchRecord>>,
    ask_part: Box<dyn Fn() -> (Part, Option<usize>) + Send + Sync>,
}

impl LaunchObserver for Observer {
    fn launched(&self, kernel: &'static str) {
        let (part, fused_operations) = (self.ask_part)();
        self.launched.lock().push(LaunchRecord {
            kernel,
            part,
            fused_operations,
            timing: None,
        });
    }

    fn timing(&self) -> TimingRequest {
        TimingRequest::Deferred
    }

    fn profiled(&self, kernel: &'static str, profile: ProfileDuration) {
        // A host-clock measurement includes submission and compilation, so it is not the kernel's time.
        if profile.timing_method() != TimingMethod::Device {
            return;
        }
        let mut launched = self.launched.lock();
        let waiting = launched
            .iter_mut()
            .rev()
            .find(|launch| launch.kernel == kernel && launch.timing.is_none());
        if let Some(launch) = waiting {
            launch.timing = Some(profile);
        }
    }

    fn timed(&self, _: &'static str, _: LaunchDuration, _: TimingMethod) {
        // This is only called if the runtime's profiling logger reads measurements first. Kernels then run one at a
        // time and their starts are unknown, so they get no time stamps.
    }
}

/// Records every launch with its part of the model and its time stamps.
pub struct LaunchRecorder {
    observer: Arc<Observer>,
    attribution: Attribution,
    observation: LaunchObservation,
}

impl LaunchRecorder {
    /// `device` must be idle.
    pub fn start(device: &Device) -> Self {
        let attribution = Attribution::start(device);
        let observer = Arc::new(Observer {
            launched: Mutex::new(Vec::new()),
            ask_part: Box::new(attribution.asker()),
        });
        LaunchRecorder {
            observation: LaunchObservation::new(observer.clone()),
            observer,
            attribution,
        }
    }

    /// Stops observing and reads the device's time stamps, in seconds since `epoch`.
    pub fn finish(self, epoch: Instant) -> Vec<KernelLaunch> {
        drop(self.observation);
        drop(self.attribution);
        let launched = std::mem::take(&mut *self.observer.launched.lock());
        let read = |launch: LaunchRecord| KernelLaunch {
            kernel: launch.kernel,
            part: launch.part,
            within: None,
            fused_operations: launch.fused_operations,
            work: None,
            device: launch.timing.and_then(|profile| {
                let ticks = block_on(profile.resolve())?;
                let start = ticks.start_duration_since(epoch).as_secs_f64();
                Some((start, start + ticks.duration().as_secs_f64()))
            }),
        };
        launched.into_iter().map(read).collect()
    }
}
