//! Helpers that the tests of the full screen share.

mod pictures;
pub mod script;
pub mod sheet;
mod svg;
