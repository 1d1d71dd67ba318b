//! Helps an instructor with a class: the position of each learner, who is stuck, and what can be done about it.
//!
//! There is no server. All communication goes through the class folder, with the rights that the file system gives.

pub mod act;
pub mod carry_out;
pub mod class;
pub mod dashboard;
pub mod hand_ins;
pub mod ladder;
pub mod present;
pub mod scope;
pub mod solve;
pub mod stuck;
pub mod view;

pub use class::Learner;
pub use dashboard::{Dashboard, InstructorAction, Prompt};
pub use scope::{ScopeError, ScopeName};
pub use stuck::Sign;
pub use view::{LearnerView, views};

pub use act::{Delivery, deliver};
pub use class::{Class, ClassError};
