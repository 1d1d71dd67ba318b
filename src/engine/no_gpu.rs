//! Replaces [`gpu`](self) in a build without `vulkan`, `rocm` and `cuda`. Burn then computes on the CPU, where it launches
//! and tunes nothing.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use burn::tensor::Device;

use crate::device::adapter::Adapter;
use crate::device::{Backend, CacheSettings};
use crate::train::KernelLaunch;

/// Does nothing: burn's CPU backend neither fuses operations nor keeps results of tuning.
pub fn configure(_: CacheSettings) {}

pub fn tuned_operations() -> Option<usize> {
    None
}

pub fn forget_decisions() {}

pub fn adapters() -> Vec<Adapter> {
    Vec::new()
}

pub fn count(_: Backend) -> usize {
    0
}

pub fn open_adapter(_: &Adapter) -> Option<Device> {
    None
}

pub fn open_indexed(_: Backend, _: usize) -> Option<(Device, String, String)> {
    None
}

pub struct LaunchObservation;

/// Counts nothing. A counter is only started for a GPU, and this build opens none.
pub fn count_launches(_: Arc<AtomicU64>) -> LaunchObservation {
    LaunchObservation
}

pub struct LaunchRecorder;

impl LaunchRecorder {
    pub fn start(_: &Device) -> Self {
        LaunchRecorder
    }

    pub fn finish(self, _: Instant) -> Vec<KernelLaunch> {
        Vec::new()
    }
}
