//! The tutor on a full screen.

pub mod panel;
pub mod panels;
#[cfg(test)]
pub mod sheet;
pub mod theme;
