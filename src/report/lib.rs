//! Reports about a learner's work, as HTML, Markdown or JSON; hand-ins and their verification; one report of a class.
//!
//! [`collect`](fn@collect) makes a [`Report`] from a session. [`html`], [`markdown`] and [`card`] show it.
//! [`hand_in`] packs and verifies it with its records, [`class`] merges many.
//!
//! The crate uses everything from `base` to `session`.
//!
//! ```
//! use tinyllama_lesson::{Course, CourseSource};
//! use tinyllama_report::{CollectOptions, collect, markdown};
//! use tinyllama_session::{Session, SessionLocation};
//!
//! let folder = tempfile::tempdir()?;
//! let location = SessionLocation::new(folder.path(), "ada");
//! drop(Session::open(location.clone())?);
//! let course = Course::load(&CourseSource::BuiltIn).expect("the course of this program");
//! let report = collect(&location, &course, CollectOptions::default())?;
//! assert!(markdown(&report).contains("ada"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod anonymous;

pub mod card;
pub mod class;
pub mod collect;
pub mod document;
pub mod export;
pub mod hand_in;
pub mod html;
pub mod layout;
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
pub use hand_in::{HandInError, HandInFindings, STAYS_POSSIBLE};
pub use shown::{ListLimits, markdown};
pub use table::ReportTable;
pub use text::{milliseconds_or_not, some_of};
