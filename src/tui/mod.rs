//! The tutor on a full screen.

pub mod highlight;
pub mod keys;
pub mod markdown;
pub mod panel;
pub mod panels;
#[cfg(test)]
pub mod sheet;
pub mod theme;
