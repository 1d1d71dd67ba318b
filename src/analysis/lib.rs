//! Statistics over measured runs: spread, comparisons with their uncertainty, fits, rooflines, tuning, and their reports.
//!
//! The crate uses `base`, `contract`, `runs`, and `profile` for the roofline of a profile.
//!
//! ```
//! use tinyllama_analysis::least_squares::fit_non_negative;
//!
//! // A step takes 2 ms and 0.5 ms a layer.
//! let layers = [1.0, 2.0, 4.0];
//! let rows: Vec<_> = layers.iter().map(|layers| vec![1.0, *layers]).collect();
//! let coefficients = fit_non_negative(&rows, &[2.5, 3.0, 4.0]).expect("independent columns");
//! assert!((coefficients[1] - 0.5).abs() < 1e-9);
//! ```

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
