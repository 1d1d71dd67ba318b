//! Times every kernel in a few extra steps, apart from the measured steps.
//!
//! Device time stamps enclose each launch, which costs the host one round trip per launch. The kernels' own times stay
//! true, but the whole step becomes slower. These steps therefore count for nothing else.

use std::time::Instant;

use burn::tensor::Device;

use super::KernelLaunch;
use super::host_launches::HostRecorder;
use crate::gpu::LaunchRecorder;
use crate::train::StopSignal;

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
    /// True if a step does more than its launches. Those of a part then do not have the part's time.
    pub partial: bool,
}

/// Observes some training steps.
pub struct ProfilePass {
    recorder: LaunchRecorder,
    host_recorder: HostRecorder,
    epoch: Instant,
    host: Vec<HostSpan>,
    steps: usize,
}

impl ProfilePass {
    fn start(device: &Device) -> Self {
        ProfilePass {
            recorder: LaunchRecorder::start(device),
            host_recorder: HostRecorder::start(),
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
        let on_cpu = self.host_recorder.finish(self.epoch);
        let mut launches = self.recorder.finish(self.epoch);
        let partial = !on_cpu.is_empty();
        launches.extend(on_cpu);
        Trace {
            steps: self.steps,
            launches,
            host: self.host,
            one_by_one: false,
            partial,
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
