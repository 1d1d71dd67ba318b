//! What the tests of the full screen share.

pub mod script;
pub mod sheet;
