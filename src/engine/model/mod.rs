//! The model on burn's tensors, and its initial values.

mod llama;
pub mod part;
mod rotary;
mod weights;

pub use llama::{
    Context, LibraryKernels, Llama, ModelPrecision, NORM_EPSILON, attention_shape, library_kernels,
};
pub use rotary::rotary_table;
pub use tinyllama_contract::model::{
    Attention, Backward, Initialisation, KeyValue, ModelConfig, OperandTypes, Operations, Part,
    Preset, Projection, ROTARY_BASE, Recipe, SideWork, Swiglu,
};
pub use tinyllama_contract::model::{kernels, work};
pub use weights::{WeightMatrix, Weights};
