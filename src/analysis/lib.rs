//! Statistics over measured runs: spread, comparisons with their uncertainty, and reports.

pub mod ablation;
pub mod batch_size;
pub mod calibration;
pub mod comparison;
pub mod gpus;
pub mod least_squares;
pub mod parts;
pub mod prediction;
pub mod ranks;
pub mod regression;
pub mod relative;
pub mod roofline;
pub mod runner;
pub mod scaling;
pub mod stages;
pub mod store;
pub mod sweep;
pub mod tuning;
pub mod workshop;

pub use calibration::Calibration;
pub use regression::Baseline;
pub use runner::{MeasuredRun, RunFailure, RunVariant, Runner, Stop};
pub use sweep::Pool;
