//! The model and its initial values.

mod config;
pub(crate) mod kernels;
mod llama;
pub(crate) mod part;
mod recipe;
mod rotary;
mod weights;
pub(crate) mod work;

pub(crate) use config::ConfigError;
pub use config::{ModelConfig, Preset};
pub(crate) use llama::{
    Context, LibraryKernels, Llama, NORM_EPSILON, Norm, Precision, attention_shape,
};
pub(crate) use part::Part;
pub use recipe::Recipe;
pub(crate) use recipe::{
    Attention, Backward, HostRead, Initialisation, KeyValue, OperandTypes, Operations, Projection,
    Swiglu,
};
pub(crate) use rotary::ROTARY_BASE;
pub(crate) use rotary::rotary_table;
pub(crate) use weights::{Matrix, Weights};
