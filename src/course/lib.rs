//! The tutor. It teaches, launches runs, reads their results and shows them.
//!
//! A [`lesson::Course`] is read from YAML. A [`session::Session`] stores what a learner did, as a chain of events. The
//! screens in [`tui`] and the lines in [`plain`] show both, and share the code in [`tutor`]. [`run`] starts a training run
//! as a child process and reads its stream. [`profiler`] builds commands of AMD's profilers and reads their files.
//! [`workbench`] checks kernels that learners write. This crate builds neither burn nor cubecl nor wgpu.
//!
//! ```
//! use tinyllama_course::lesson::{Course, CourseSource};
//!
//! let course = Course::load(&CourseSource::BuiltIn).expect("the course of this program");
//! assert!(course.lessons().count() > 10);
//! ```

