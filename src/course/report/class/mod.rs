//! A class on one page: the summary of its members' reports.

pub mod csv;
pub mod document;
pub mod html;
mod merge;
pub mod sources;

pub use document::ClassReport;
pub use merge::merge;
