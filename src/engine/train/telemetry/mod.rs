//! Measures a run: launches, device time per kernel, memory.

mod heap;
mod host_launches;
mod launches;
mod memory;
mod profile_pass;

pub use heap::{CountedHeap, heap_in_use};
pub use launches::{LaunchCount, LaunchCounter};
pub use memory::{PeakMemory, PoolMemory, process_peak};
#[cfg(test)]
pub use profile_pass::HostSpan;
pub use profile_pass::{KernelLaunch, ProfilePass, Trace, observe};
