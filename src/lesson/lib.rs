//! The course: its files, their allowed content, and the checks of runs.
//!
//! A course is a `workshop.yaml`, one folder per session with one YAML file per lesson, and `reference/` pages in
//! Markdown. The built-in course is part of the program. [`Course::load`] reads everything, or returns the problems
//! of all files with file, line and column. A file with a syntax error or an unknown key reports only the first one.
//! [`kinds`] has what each kind of step consists of.
//!
//! The crate uses `base`, `contract`, `runs` for the figures of checks, and `analysis`, `profile` and `workbench` for what
//! steps name of them. It knows no learner: what one did is in `session`.
//!
//! ```
//! use tinyllama_lesson::{Course, CourseSource};
//!
//! let course = Course::load(&CourseSource::BuiltIn).expect("the course of this program");
//! assert!(course.lessons().count() > 10);
//! ```

mod aliases;
pub mod case;
pub mod check;
pub mod command;
mod contradictions;
pub mod course;
pub mod document;
pub mod expect;
pub mod figure;
pub mod file;
pub mod job;
pub mod kinds;
mod limits;
pub mod live;
mod load;
mod locate;
pub mod output_view;
mod partner;
pub mod path;
pub mod placeholder;
pub mod problem;
pub mod quantity;
pub mod quiz;
mod read_step;
mod runs;
pub mod schema;
pub mod source;
mod step_reader;
pub mod template;
mod text;
pub mod text_condition;
mod validate;

pub use case::CaseMove;
pub use check::{exact, recorded};
pub use document::{
    Hint, LessonDocument, Mistake, SessionDocument, StepDocument, WorkshopDocument,
};
pub use figure::{Condition, OutputFigure};
pub use kinds::{Golden, Step};
pub use load::{WORKSHOP, problem_in};
pub use output_view::OutputView;
pub use path::LearningPath;
pub use quantity::Term;
pub use quiz::{MarkedAnswer, Quiz, QuizAnswer, QuizChoice};

pub use case::Case;
pub use check::{Check, Undecided, Verdict};
pub use command::{CommandCheck, LessonCommand};
pub use course::{Course, Lesson};
pub use expect::Expect;
pub use figure::CommandOutputs;
pub use job::Job;
pub use limits::refused_flag;
pub use problem::{Problem, Problems, Style};
pub use quantity::{FIXED, Quantity, StepRef};
pub use runs::{Results, Runs};
pub use source::CourseSource;
pub use validate::is_id;
