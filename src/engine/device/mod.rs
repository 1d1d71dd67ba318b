//! Finds and opens the device on which a run trains.
//!
//! Every backend is probed before a client is created: creating one without its library panics.

mod cache;
pub mod ceilings;
mod cpu;
pub mod diagnosis;
pub mod driver;
mod error;
mod failure;
pub mod finding;
pub mod library;
pub mod ranges;
mod select;
pub mod selftest;
mod tuning;
mod unserved;
pub mod vulkan;

pub use cache::{CacheSettings, configure_runtime};
pub use error::DeviceError;
pub use failure::{BackendFailure, explain};
pub use select::{
    OpenDevice, check_cpu, cpu_facts, is_compiled_in, open, open_driver, open_driver_of, vendor_of,
};
pub use tinyllama_contract::{Backend, BackendChoice, FORGET_TUNING, Tuning};
pub use tuning::{forget_decisions, tuned_operations};
pub use unserved::explain_passed_over;
