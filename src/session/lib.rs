//! Stores what a learner did, and says what follows from it. Nothing that was acknowledged is ever lost.
//!
//! A session is a folder with these parts:
//! - `events.jsonl`: the source of truth. It is append-only; every line has a checksum and a link to the line before.
//! - `state.json`: a cache for other readers, rebuilt from the events.
//! - `inbox/`: orders of instructors.
//! - `runs/`, `workbench/`, `backups/` and `lock`.
//!
//! [`progress`] says which lessons are open and which steps are done, [`learning`] has a learner's actions, [`turns`] decides
//! undecided checks, [`recall`] asks again.
//!
//! The crate uses `base`, `contract`, `lesson`, `runs`, and `workbench` for checked kernels. It shows nothing.
//!
//! ```
//! use tinyllama_session::{Session, SessionLocation, StepRef};
//!
//! let folder = tempfile::tempdir()?;
//! let mut session = Session::open(SessionLocation::new(folder.path(), "ada"))?;
//! let guess = StepRef::new("memory", "guess");
//! session.predict(guess.clone(), 12.5)?;
//! assert_eq!(session.state().progress(&guess).prediction, Some(12.5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod archive;
pub mod backup;
pub mod case;
pub mod chain;
pub mod class_file;
pub mod class_rights;
pub mod error;
pub mod event;
mod holder;
pub mod inbox;
pub mod kernel;
pub mod learning;
pub mod location;
pub mod lock;
mod log;
pub mod order;
pub mod order_copy;
pub mod progress;
pub mod recall;
pub mod runs;
pub mod state;
pub mod store;
pub mod stored_runs;
pub mod turns;

pub use case::{Evidence, Standing};
pub use event::{AnswerGiven, KernelTime, RunExit, Scope, StepRef};
pub use kernel::CheckedKernel;
pub use learning::{CheckResultText, HintStage, LONGEST_LOOK};
pub use location::{check_learner, check_name};
pub use order::SolvedRun;
pub use progress::{
    Access, LessonProgress, access, following, is_complete, neighbour, next, unfinished,
};
pub use runs::MeasuredRuns;
pub use state::{CheckResult, KernelAttemptResult, RunEntry, StepProgress, StepStatus};
pub use stored_runs::StoredRun;

pub use error::SessionError;
pub use event::{Record, SessionEvent};
pub use holder::Holder;
pub use location::SessionLocation;
pub use log::{LogDamage, MOST_LOG_BYTES, Scan, scan};
pub use order::{InstructorOrder, OrderAction, OutsideChange};
pub use state::SessionState;
pub use store::{Session, read_only};
