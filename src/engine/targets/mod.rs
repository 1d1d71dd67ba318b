//! The engines that execute targets: [`autodiff`] on burn's tensors, [`v4`] by a schedule of launches.

pub mod autodiff;
pub mod difference;
pub mod gradient_check;
mod graph;
#[cfg(test)]
mod tests;
pub mod v4;

use anyhow::Result;
use tinyllama_contract::TrainingOptions;
use tinyllama_contract::targets::engine_kind::EngineKind;
pub use tinyllama_contract::targets::*;

use crate::train::EngineDevice;

/// Opens the device that `options` select, with the engine of their target.
///
/// # Errors
/// Names what is missing on this machine, or an element type that the engine cannot compute with.
pub fn open(options: &TrainingOptions) -> Result<Box<dyn EngineDevice>> {
    match options.target.engine {
        EngineKind::Autodiff => autodiff::open(options),
        EngineKind::Scheduled => Ok(Box::new(v4::open(options)?)),
    }
}
