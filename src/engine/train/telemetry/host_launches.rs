//! Times every kernel of this project that runs on the CPU.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tinyllama_kernels::host::{HostObservation, observe};

use super::KernelLaunch;
use crate::model::{Part, part};

struct HostLaunch {
    kernel: &'static str,
    part: Part,
    start: Instant,
    end: Instant,
}

/// Records every kernel on the CPU with its part of the model.
pub struct HostRecorder {
    launched: Arc<Mutex<Vec<HostLaunch>>>,
    observation: HostObservation,
}

impl HostRecorder {
    pub fn start() -> Self {
        let launched = Arc::<Mutex<Vec<HostLaunch>>>::default();
        let sink = launched.clone();
        HostRecorder {
            launched,
            observation: observe(move |kernel, start, end| {
                sink.lock().push(HostLaunch {
                    kernel,
                    part: part::current(),
                    start,
                    end,
                });
            }),
        }
    }

    /// Stops recording and returns the launches, in seconds since `epoch`.
    pub fn finish(self, epoch: Instant) -> Vec<KernelLaunch> {
        drop(self.observation);
        let seconds = |at: Instant| at.saturating_duration_since(epoch).as_secs_f64();
        let launched = std::mem::take(&mut *self.launched.lock());
        let launch = |launch: HostLaunch| KernelLaunch {
            kernel: launch.kernel,
            part: launch.part,
            within: None,
            fused_operations: None,
            work: None,
            device: Some((seconds(launch.start), seconds(launch.end))),
        };
        launched.into_iter().map(launch).collect()
    }
}
