//! A session as a document: collected once, rendered as Markdown, HTML, JSON and JUnit, and checked when it is handed in.

mod anonymous;

pub mod class;
pub mod collect;
pub mod document;
pub mod export;
pub mod hand_in;
pub mod html;
pub mod junit;
mod layout;
pub mod markdown;
mod ratios;
mod roofline;
mod shown;
mod table;
pub(crate) mod words;

pub use collect::{Options, collect};
pub use document::Report;
