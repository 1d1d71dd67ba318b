//! The model, its versions and its initial values.

mod config;
pub mod difference;
pub mod kernel_cost;
mod llama;
pub mod part;
mod recipe;
mod rotary;
mod target;
pub mod ultra;
mod weights;
pub mod work;

pub use config::{ConfigError, ModelConfig, Preset};
pub use llama::{Context, LibraryKernels, Llama, NORM_EPSILON, NamedParameter, Precision};
pub use part::Part;
pub use recipe::{
    Attention, Backward, Initialisation, KeyValue, Operations, Projection, Recipe, Swiglu,
};
pub use target::{Target, Timing};
pub use weights::{Matrix, Weights};
