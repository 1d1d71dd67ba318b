//! Runs kernels that learners write on a GPU and in the model. The workbench checks them without a GPU.

pub mod bench;
pub mod gpu;
pub mod in_model;
