//! What the kernels share on a CPU: vectors, an exponential, matrix products, and the count of launches.
//!
//! Each kernel's folder has a file `host` with its passes as functions over slices, on all cores. burn's CPU backend
//! calls them through the kernels' operations, and V4's schedule calls them directly.

mod exponential;
mod launches;
pub mod matrix;
mod vectors;

pub(crate) use exponential::exponential;
pub(crate) use launches::launch;
pub use launches::{HostObservation, launched, observe};
pub(crate) use vectors::{dot, largest, sum, widest};
