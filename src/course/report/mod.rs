//! A session as a document. It is collected once, rendered as Markdown, HTML, JSON and JUnit, and checked when it is
//! handed in.

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
pub mod words;

pub use class::document::{CheckRow, ClassReport};
pub use document::{
    AnswerReport, CaseReport, CheckReport, Device, HotspotRow, KernelReport, LessonReport,
    Prediction, ProfileReport, Ratio, RunReport, StageRow, StepReport, StepTime, Work,
};
pub use hand_in::{Findings, HandInError, NOT_PROVEN};
pub use shown::Limits;
pub use table::Table;
pub use words::{milliseconds, some_of};

pub use collect::{Options, collect};
pub use document::Report;
