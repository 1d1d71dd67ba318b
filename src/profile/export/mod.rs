//! Writes a profile for other programs.

pub mod csv;
pub mod json;
pub mod perfetto;
