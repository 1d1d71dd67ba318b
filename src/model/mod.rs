//! The model, its versions and its initial values.

mod config;
mod llama;
pub mod part;
mod recipe;
mod rotary;
mod weights;
pub mod ultra;
pub mod work;

pub use config::{ConfigError, ModelConfig, Preset, human_bytes};
pub use llama::{Context, Llama, NORM_EPSILON, NamedParameter, Precision};
pub use part::Part;
pub use recipe::{Attention, Operations, Projection, Recipe, Target};
pub use weights::{Matrix, Weights};
