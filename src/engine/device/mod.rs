//! Finds and opens the device on which a run trains.
//!
//! Every backend is probed before a client is created: creating one without its library panics.

pub mod adapter;
mod cache_settings;
pub mod ceilings;
mod cpu;
pub mod diagnosis;
pub mod driver;
mod error;
mod failure;
pub mod finding;
pub mod library;
pub mod ranges;
mod runtime;
mod select;
pub mod selftest;
mod unserved;
pub mod vulkan;

pub use crate::gpu::{forget_decisions, tuned_operations};
pub use cache_settings::CacheSettings;
pub use error::DeviceError;
pub use failure::{BackendFailure, explain};
pub use runtime::configure_runtime;
pub use select::{
    OpenDevice, check_cpu, cpu_facts, is_compiled_in, open, open_driver, open_driver_of,
    require_code_generator, vendor_of,
};
pub use tinyllama_contract::{Backend, BackendChoice, FORGET_TUNING, Tuning};
pub use unserved::{check_architecture, explain_passed_over};
