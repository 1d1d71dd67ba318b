//! All calls of burn's GPU backends and of cubecl, their code generator. `no_gpu.rs` has the same functions for a build
//! without them.

mod attribution;
mod devices;
mod launches;
mod runtime;
mod tuning;

pub use devices::{adapters, count, open_adapter, open_indexed};
pub use launches::{LaunchObservation, LaunchRecorder, count_launches};
pub use runtime::configure;
pub use tuning::{forget_decisions, tuned_operations};
