//! The tutor on a full screen.

pub mod highlight;
pub mod instructor_screen;
pub mod keys;
pub mod markdown;
pub mod message;
pub mod model;
pub mod panel;
pub mod panels;
pub mod run_view;
mod runtime;
#[cfg(test)]
pub mod script;
#[cfg(test)]
pub mod sheet;
pub mod theme;
pub mod update;
pub mod view;

pub use runtime::run;
