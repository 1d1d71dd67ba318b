//! Emits the kernels as HIP C++, compiles them without a GPU for an AMD architecture, and checks their budgets.

pub mod budget;
#[cfg(feature = "gpu")]
pub mod candidates;

/// The name under which V4's kernels are listed.
pub const V4: &str = "v4";
