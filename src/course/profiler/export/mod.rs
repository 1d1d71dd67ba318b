//! A profile written for other programs.

pub mod csv;
pub mod json;
pub mod perfetto;
