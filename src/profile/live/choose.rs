//! Decides which of several GPUs a run uses.

use super::GpuStatus;

/// How a GPU was chosen among several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// There is only one GPU, or only one with the device name from the run.
    TheOne,
    /// The busiest of this many equal GPUs, because the run does not say which one it uses.
    BusiestOf(usize),
}

/// Returns the GPU with the device name from the run. If several or none have it, returns the busiest. `None` without a
/// GPU.
pub fn choose<'a>(gpus: &'a [GpuStatus], device: Option<&str>) -> Option<(&'a GpuStatus, Chosen)> {
    let is_named = |gpu: &&GpuStatus| match (gpu.name.as_deref(), device) {
        (Some(name), Some(device)) => device.contains(name) || name.contains(device),
        _ => false,
    };
    let mut candidates: Vec<&GpuStatus> = gpus.iter().filter(is_named).collect();
    if candidates.is_empty() {
        candidates = gpus.iter().collect();
    }
    let load = |gpu: &GpuStatus| gpu.busy.unwrap_or(-1.0);
    let all = candidates.iter().copied();
    let busiest = all.max_by(|a, b| load(a).total_cmp(&load(b)))?;
    Some(match candidates.len() {
        1 => (busiest, Chosen::TheOne),
        several => (busiest, Chosen::BusiestOf(several)),
    })
}
