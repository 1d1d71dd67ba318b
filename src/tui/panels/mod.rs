//! Panels that show data: one file each.

pub mod compare;
pub mod kernels;
pub mod plot;
pub mod profile;
pub mod report;
pub mod roofline;
pub mod table;
pub mod text;
