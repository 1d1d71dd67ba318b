//! The two faces of the tutor: the full screen and lines.

pub mod tui;
pub mod plain;
