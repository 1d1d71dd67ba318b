//! The two faces of the tutor: the full screen and lines.

pub mod plain;
pub mod tui;
