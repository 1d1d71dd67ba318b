//! Panels that show data: one file each.

pub mod compare;
pub mod plot;
pub mod profile;
pub mod table;
pub mod text;
