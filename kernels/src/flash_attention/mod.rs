//! [Causal attention](tinyllama_kernel_catalog::flash_attention), in CubeCL, on a CPU, and as an operation of burn.

mod binding;
#[cfg(feature = "gpu")]
mod block;
#[cfg(feature = "gpu")]
mod check;
#[cfg(feature = "gpu")]
mod forward_kernel;
pub mod host;
#[cfg(feature = "gpu")]
mod key_gradient;
#[cfg(feature = "gpu")]
mod launch;
#[cfg(feature = "gpu")]
mod query_gradient;
#[cfg(feature = "gpu")]
mod tile;
#[cfg(feature = "gpu")]
mod view;
#[cfg(feature = "gpu")]
mod workload;

pub use binding::{
    KeyValueLayout, rotary_attention, rotary_attention_gradient, rotary_attention_saved,
};

#[cfg(feature = "gpu")]
pub(crate) use {
    block::FlashAttentionBlock,
    launch::{backward, forward},
    view::HeadView,
    workload::CODE,
};

/// The kernel's name in the catalogue.
#[cfg(feature = "gpu")]
pub(crate) const NAME: &str = tinyllama_kernel_catalog::flash_attention::KERNEL.name;
