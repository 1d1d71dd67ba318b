//! A check's verdict, ready to be shown.

use crate::lesson::{Check, Outcome, Verdict};

/// A verdict with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub check: String,
    pub verdict: Verdict,
    pub required: bool,
    pub text: String,
}

impl Shown {
    pub fn new(check: &Check, outcome: &Outcome) -> Self {
        Self {
            check: check.id.clone(),
            verdict: outcome.verdict,
            required: check.required,
            text: outcome.explain(check),
        }
    }

    /// `passed`, or `not yet (not required here)`.
    pub fn words(&self) -> String {
        let name = self.verdict.name();
        if self.required || self.verdict == Verdict::Passed {
            name.to_string()
        } else {
            format!("{name} (not required here)")
        }
    }
}
