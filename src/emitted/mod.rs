//! Emits the kernels as HIP C++, compiles them without a GPU for an AMD architecture, and checks their budgets.

pub mod budget;
pub mod candidates;
