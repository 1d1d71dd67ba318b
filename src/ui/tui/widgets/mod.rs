//! The building blocks of panels: tables, plots, texts, and where the learner is in them.

pub mod cursor;
pub mod plot;
pub mod snippet;
pub mod table;
pub mod text;
pub mod verdict;
