//! A class on one page: what its members' reports say together.

pub mod csv;
pub mod document;
pub mod html;
mod merge;
pub mod sources;

pub use document::ClassReport;
pub use merge::merge;
