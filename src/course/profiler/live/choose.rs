//! Which of several GPUs a run is on.

use super::GpuStatus;

/// Which of several GPUs the figures belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// There is one, or only one has the name the run gave its device.
    TheOne,
    /// The busiest of so many alike: the run does not tell which it uses.
    BusiestOf(usize),
}

/// The GPU that has the name the run gave its device; the busiest where several have it or none has. None without a GPU.
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
