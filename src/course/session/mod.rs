//! Stores what a learner did. Nothing that was acknowledged is ever lost.
//!
//! A session is a folder with these parts:
//! - `events.jsonl`: the source of truth. It is append-only; every line has a checksum and a link to the line before.
//! - `state.json`: a cache for other readers, rebuilt from the events.
//! - `inbox/`: orders of instructors.
//! - `runs/`, `workbench/`, `backups/` and `lock`.

pub mod archive;
pub mod backup;
pub mod case;
pub mod chain;
pub mod class_file;
pub mod class_rights;
pub mod earlier;
pub mod error;
pub mod event;
pub mod inbox;
pub mod kept;
pub mod kernel;
pub mod learning;
pub mod lock;
mod log;
pub mod order;
pub mod place;
pub mod progress;
pub mod runs;
pub mod state;
pub mod store;
pub mod turns;
pub mod verify;

pub use case::{Evidence, Standing};
pub use event::{AnswerGiven, KernelTime, RunExit, Scope, StepRef};
pub use kept::KeptRun;
pub use kernel::Tried;
pub use learning::{Checked, HintStage, LONGEST_LOOK};
pub use order::SolvedRun;
pub use place::check_name;
pub use progress::{Access, LessonProgress, access, beside, is_complete, next, unfinished};
pub use runs::MeasuredRuns;
pub use state::{CheckResult, KernelDid, Run, Status, StepProgress};

pub use error::SessionError;
pub use event::{Event, Record};
pub use lock::Holder;
pub use log::{Damage, MOST_LOG_BYTES, Scan, scan};
pub use order::{Action, Notice, Order};
pub use place::Place;
pub use state::State;
pub use store::{Session, read_only};
