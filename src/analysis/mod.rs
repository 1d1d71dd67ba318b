//! What measured numbers allow one to say: spread, comparisons with their uncertainty, and what a run reports.

pub mod measurements;
pub mod metric;
pub mod statistics;

pub use measurements::Measurements;
pub use metric::{Metric, Statistic, Unit};
