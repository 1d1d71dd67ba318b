//! The interface between a training run and the tutor that starts it.
//!
//! A run is a child process. The tutor starts it with the flags of [`flags::RunFlags`] and reads one JSON object per
//! line, each an [`Event`]. Both sides share [`targets::Target`], [`model::ModelConfig`] and [`model::Recipe`]. No
//! type here opens a device or trains, so a reader builds without burn.
//!
//! ```
//! use tinyllama_contract::{Body, Event, flags::RunSpec};
//!
//! let spec = RunSpec::parse("v3", ["--num-steps", "5"])?;
//! assert_eq!(spec.target.name, "v3");
//!
//! let line = r#"{"t":0.5,"event":"note","message":"first step"}"#;
//! let event: Event = serde_json::from_str(line)?;
//! assert!(matches!(event.body, Body::Note(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bounds;
pub mod ceilings;
mod choices;
mod device;
pub mod event;
pub mod flags;
mod kernel_in_place;
mod matrix_products;
pub mod model;
pub mod ranges;
pub mod targets;
pub mod turns;

pub use choices::{BlockForm, ElementType, Gemm, MatmulPrecision, Synchronize};
pub use device::{Backend, BackendChoice, FORGET_TUNING, Tuning};
pub use event::{
    Activations, Body, DataSource, Event, Failure, FailureCode, Hello, Kernel, Kernels, Note,
    PartWork, Parts, Phase, PhaseName, RankCheck, Repeatability, Sample, Spread, Step, Summary,
};
pub use flags::{RankOptions, TrainingOptions, WEIGHT_DECAY, adamw};
pub use kernel_in_place::{Arrays, KernelInPlace, LaunchShape};
pub use matrix_products::{MatrixProducts, Operands};
