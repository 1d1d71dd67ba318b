//! Conditions on a command's document.

use super::check::{bounds, lies_within};
use crate::lesson::{CommandOutputs, OutputFigure, Verdict};
use tinyllama_base::figure;

/// A bound on a number in the document, or an expected text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    pub id: String,
    pub figure: OutputFigure,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    pub is: Option<String>,
    pub required: bool,
    pub passed: String,
    pub not_yet: String,
}

/// A verdict and its basis.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectResult {
    pub verdict: Verdict,
    /// The number in the document.
    pub value: Option<f64>,
    /// The value in the document, as text.
    shown: Option<String>,
}

impl Expect {
    pub fn evaluate(&self, outputs: &dyn CommandOutputs) -> ExpectResult {
        let found = self.figure.value(outputs);
        let value = found.as_ref().and_then(serde_json::Value::as_f64);
        let value = value.filter(|value| value.is_finite());
        let text = found.as_ref().map(|found| super::figure::show(found, ""));
        let verdict = match (&self.is, value, &text) {
            _ if outputs.document(&self.figure.step).is_none() => Verdict::Inconclusive,
            (Some(wanted), _, Some(text)) if text == wanted => Verdict::Passed,
            (None, Some(value), _) if self.accepts(value) => Verdict::Passed,
            (None, None, _) => Verdict::Inconclusive,
            _ => Verdict::NotYet,
        };
        ExpectResult {
            verdict,
            value,
            shown: text,
        }
    }

    /// Returns whether a number lies within the bounds.
    pub fn accepts(&self, value: f64) -> bool {
        lies_within(value, self.at_least, self.at_most)
    }

    /// The bounds as text.
    pub fn bounds(&self) -> String {
        match &self.is {
            Some(text) => format!("`{text}`"),
            None => bounds(self.at_least, self.at_most, figure),
        }
    }

    /// The text for the learner.
    pub fn explain(&self, found: &ExpectResult) -> String {
        let text = match found.verdict {
            Verdict::Passed => self.passed.trim(),
            Verdict::NotYet => self.not_yet.trim(),
            _ => "The document does not report it.",
        };
        let shown = found.shown.as_deref().unwrap_or("not there");
        let (figure, bounds) = (&self.figure, self.bounds());
        format!("{text}\n{figure} is {shown}; asked for: {bounds}.")
    }
}
