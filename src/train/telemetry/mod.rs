//! What a run reports of itself: launches, device time per kernel, memory.

mod attribution;
mod launches;
mod memory;
mod profile_pass;

pub use attribution::Attribution;
pub use launches::{LaunchCount, LaunchCounter};
pub use memory::{MemoryUse, PeakMemory};
pub use profile_pass::{HostSpan, KernelLaunch, ProfilePass, Recording};
