//! Writes a profile for other programs.

pub mod json;
pub mod perfetto;
