//! Questions about a profile, each with its figures and a plain table of them.

pub mod comparison;
pub mod copies;
pub mod counters;
pub mod derived;
pub mod hotspots;
pub mod launches;
pub mod occupancy;
pub mod parts;
pub mod report;
pub mod roofline;
pub mod timeline;
