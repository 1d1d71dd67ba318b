//! What measured numbers allow one to say: spread, comparisons with their uncertainty, and what a run reports.

pub mod comparison;
pub mod measurements;
pub mod metric;
pub mod runner;
pub mod statistics;
pub mod turns;

pub use measurements::Measurements;
pub use metric::{Metric, Statistic, Unit};
pub use runner::{MeasuredRun, RunFailure, Runner, Stop, Variant};
