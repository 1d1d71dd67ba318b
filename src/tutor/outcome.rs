//! A check's verdict, ready to be shown.

pub use crate::session::learning::Checked as Shown;
