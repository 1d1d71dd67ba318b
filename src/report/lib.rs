//! A session as a document. It is collected once, rendered as Markdown, HTML, JSON and JUnit, and checked when it is
//! handed in.

mod anonymous;

pub mod card;
pub mod class;
pub mod collect;
pub mod document;
pub mod export;
pub mod hand_in;
pub mod html;
pub mod junit;
pub(crate) mod layout;
mod ratios;
mod roofline;
mod shown;
mod table;
pub mod text;

pub use class::document::{CheckRow, ClassReport};
pub use collect::{CollectOptions, collect};
pub use document::{
    AnswerReport, CaseReport, CheckReport, Device, HotspotRow, KernelReport, LessonReport,
    Prediction, ProfileReport, Ratio, Report, RunReport, StageRow, StepReport, StepTime, Work,
};
pub use hand_in::{HandInError, HandInFindings, NOT_PROVEN};
pub use shown::{ListLimits, markdown};
pub use table::ReportTable;
pub use text::{milliseconds_or_not, some_of};
