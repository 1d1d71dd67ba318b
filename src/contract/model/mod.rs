//! The sizes of a model, its recipe, and the work of a step.

pub mod config;
pub mod kernels;
pub mod part;
pub mod recipe;
pub mod work;

pub use config::{ConfigError, ModelConfig, Preset};
pub use part::Part;
pub use recipe::{
    Attention, Backward, Initialisation, KeyValue, OperandTypes, Operations, Projection, Recipe,
    SideWork, Swiglu,
};

/// Base of the geometric series of rotation frequencies (Su et al., 2021).
pub const ROTARY_BASE: f64 = 10_000.0;
