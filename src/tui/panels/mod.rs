//! Panels that show data: one file each.

pub mod plot;
pub mod table;
pub mod text;
