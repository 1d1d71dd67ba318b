//! A check's verdict, ready to be shown.

use crate::lesson::{Check, Outcome, Verdict};

/// A verdict with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub check: String,
    pub mark: Mark,
    pub required: bool,
    pub text: String,
}

/// Of what sort a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Passed,
    NotYet,
    Undecided,
}

impl Mark {
    pub fn name(self) -> &'static str {
        match self {
            Mark::Passed => "passed",
            Mark::NotYet => "not yet",
            Mark::Undecided => "inconclusive",
        }
    }
}

impl Shown {
    pub fn new(check: &Check, outcome: &Outcome) -> Self {
        Self {
            check: check.id.clone(),
            mark: match outcome.verdict {
                Verdict::Passed => Mark::Passed,
                Verdict::NotYet => Mark::NotYet,
                Verdict::Inconclusive(_) => Mark::Undecided,
            },
            required: check.required,
            text: outcome.explain(check),
        }
    }

    /// `passed`, or `not yet (not required here)`.
    pub fn verdict(&self) -> String {
        if self.required || self.mark == Mark::Passed {
            self.mark.name().to_string()
        } else {
            format!("{} (not required here)", self.mark.name())
        }
    }
}
