//! Kernels that learners write, on a GPU and in the model. The workbench checks them without one.

pub mod bench;
pub mod gpu;
pub mod in_model;
