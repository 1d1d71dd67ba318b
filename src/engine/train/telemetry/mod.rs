//! Measures a run: launches, device time per kernel, memory.

mod heap;
mod host_launches;
mod kernel_launch;
mod launches;
mod memory;
mod profile_pass;

pub use heap::{CountedHeap, heap_in_use};
pub use kernel_launch::KernelLaunch;
pub use launches::{LaunchCount, LaunchCounter};
pub use memory::{PoolMemory, process_peak};
#[cfg(test)]
pub use profile_pass::HostSpan;
pub use profile_pass::{ProfilePass, Trace, observe};
