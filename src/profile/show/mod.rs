//! Answers questions about a profile, each with figures and a plain table.

pub mod comparison;
pub mod copies;
pub mod counters;
pub mod derived;
pub mod hotspots;
pub mod idle;
mod intervals;
pub mod launch_calls;
pub mod launches;
pub mod memory_chart;
pub mod occupancy;
pub mod parts;
pub mod report;
pub mod roofline;
pub mod samples;
pub mod timeline;
pub mod triage;

#[cfg(test)]
mod tests;
