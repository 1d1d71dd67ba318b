//! Times every kernel in a few extra steps, apart from the measured steps.
//!
//! Device time stamps enclose each launch, which costs the host one round trip per launch. The kernels' own times stay
//! true, but the whole step becomes slower. These steps therefore count for nothing else.

use std::sync::Arc;

use burn::cubecl::future::block_on;
use burn::cubecl::logging::{
    Duration as LaunchDuration, LaunchObservation, LaunchObserver, ProfileDuration, TimingMethod,
    TimingRequest,
};
use burn::cubecl::profile::Instant;
use burn::tensor::Device;
use parking_lot::Mutex;

use super::attribution::Attribution;
use crate::model::Part;
use crate::model::work::Work;
use crate::train::StopSignal;

/// One kernel launch of a profile pass.
#[derive(Clone, Debug)]
pub struct KernelLaunch {
    /// Full name as the kernel reports it.
    pub kernel: &'static str,
    pub part: Part,
    /// The part of the model that contains `part`, if the engine knows it.
    pub within: Option<Part>,
    /// Operations that burn's fusion put into this launch; `None` without fusion.
    pub fused_operations: Option<usize>,
    /// Work the kernel has to do (FLOP and bytes), if the engine knows it.
    pub work: Option<Work>,
    /// Start and end in seconds since the pass began, on the device's clock; `None` without time stamps.
    pub device: Option<(f64, f64)>,
}

/// A span of host time spent in one part, in seconds since the pass began.
#[derive(Clone, Debug)]
pub struct HostSpan {
    pub name: String,
    pub start: f64,
    pub end: f64,
}

/// Everything that a profile pass measured.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub steps: usize,
    pub launches: Vec<KernelLaunch>,
    pub host: Vec<HostSpan>,
    /// True if each launch was timed alone. The time between launches of a step is then unknown.
    pub one_by_one: bool,
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

/// Observes some training steps.
pub struct ProfilePass {
    observer: Arc<Observer>,
    attribution: Attribution,
    observation: LaunchObservation,
    epoch: Instant,
    host: Vec<HostSpan>,
    steps: usize,
}

impl ProfilePass {
    fn start(device: &Device) -> Self {
        let attribution = Attribution::start(device);
        let observer = Arc::new(Observer {
            launched: Mutex::new(Vec::new()),
            ask_part: Box::new(attribution.asker()),
        });
        ProfilePass {
            observation: LaunchObservation::new(observer.clone()),
            observer,
            attribution,
            epoch: Instant::now(),
            host: Vec::new(),
            steps: 0,
        }
    }

    /// Runs `work` as one host span.
    pub fn span<T>(&mut self, name: &str, work: impl FnOnce() -> T) -> T {
        let start = self.epoch.elapsed().as_secs_f64();
        let result = work();
        self.host.push(HostSpan {
            name: name.to_string(),
            start,
            end: self.epoch.elapsed().as_secs_f64(),
        });
        result
    }

    /// Stops observing and reads the device's time stamps.
    fn finish(self) -> Trace {
        drop(self.observation);
        drop(self.attribution);
        let epoch = self.epoch;
        let launched = std::mem::take(&mut *self.observer.launched.lock());
        let launches = launched
            .into_iter()
            .map(|launch| KernelLaunch {
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
            })
            .collect();
        Trace {
            steps: self.steps,
            launches,
            host: self.host,
            one_by_one: false,
        }
    }
}

/// Observes `steps` steps on `device`, which is idle at the start and after each step.
///
/// # Errors
/// Errors of `step`.
pub fn observe<E>(
    device: &Device,
    steps: usize,
    stop: &StopSignal,
    mut step: impl FnMut(&mut ProfilePass) -> Result<(), E>,
) -> Result<Trace, E> {
    let mut pass = ProfilePass::start(device);
    for _ in 0..steps {
        if stop.reason().is_some() {
            break;
        }
        step(&mut pass)?;
        pass.steps += 1;
    }
    Ok(pass.finish())
}
