//! The tutor on a full screen.

pub mod actions;
pub mod desk;
pub mod highlight;
pub mod instructor_screen;
pub mod keys;
pub mod markdown;
pub mod message;
pub mod model;
pub mod pane;
pub mod panel;
pub mod panels;
pub mod run_view;
mod runtime;
#[cfg(test)]
pub mod tests;
pub mod theme;
pub mod update;
pub mod view;

pub use runtime::run;
#[cfg(test)]
pub use tests::{script, sheet};
