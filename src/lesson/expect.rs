//! Conditions on a command's document.

use super::check::{bounds, lies_within};
use super::document::CheckDocument;
use super::step_reader::StepReader;
use crate::figure::{plain, show, yes_or_no};
use crate::{CommandOutputs, OutputFigure, Verdict};

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
    /// Reads the check at `index` of a command's `step`.
    pub(super) fn read(
        reader: &mut StepReader,
        index: usize,
        step: &str,
        check: &CheckDocument,
    ) -> Option<Self> {
        let CheckDocument {
            id,
            measure,
            at_least,
            at_most,
            is,
            confidence,
            required,
            on_gpu,
            passed,
            not_yet,
        } = check;
        let path = format!("checks/{index}/measure");
        let figure = OutputFigure::parse(measure, &reader.run_name(step));
        let figure = reader.or_refuse(&path, figure)?;
        if is.is_none() && at_least.is_none() && at_most.is_none() {
            reader.refuse(&path, "it needs `at_least`, `at_most` or `is`");
        }
        if confidence.is_some() {
            reader.refuse(&path, "a document has no spread: it takes no `confidence`");
        }
        if on_gpu.is_some() {
            reader.refuse(&path, "a document is of any machine: it takes no `on_gpu`");
        }
        Some(Expect {
            id: id.clone(),
            figure,
            at_least: *at_least,
            at_most: *at_most,
            is: is.clone(),
            required: required.unwrap_or(true),
            passed: reader.settled(&path, passed),
            not_yet: reader.settled(&path, not_yet),
        })
    }

    pub fn evaluate(&self, outputs: &dyn CommandOutputs) -> ExpectResult {
        let found = self.figure.value(outputs);
        let value = found.as_ref().and_then(serde_json::Value::as_f64);
        let value = value.filter(|value| value.is_finite());
        let text = found.as_ref().map(plain);
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
            shown: found.map(|found| show(&found, self.figure.unit())),
        }
    }

    /// Returns whether a number lies within the bounds.
    pub fn accepts(&self, value: f64) -> bool {
        lies_within(value, self.at_least, self.at_most)
    }

    /// The bounds as text.
    pub fn bounds(&self) -> String {
        match self.is.as_deref() {
            Some("true") => yes_or_no(true).into(),
            Some("false") => yes_or_no(false).into(),
            Some(text) => format!("`{text}`"),
            None => bounds(self.at_least, self.at_most, |bound| {
                show(&bound.into(), self.figure.unit())
            }),
        }
    }

    /// The text for the learner.
    pub fn explain(&self, found: &ExpectResult) -> String {
        let text = match found.verdict {
            Verdict::Passed => self.passed.trim(),
            Verdict::NotYet => self.not_yet.trim(),
            _ => "The document does not report it.",
        };
        let shown = found.shown.as_deref().unwrap_or("nothing");
        if self.is.is_some() && found.verdict == Verdict::Passed {
            return format!("{text}\nThe command says {shown}, as asked.");
        }
        format!(
            "{text}\nThe command says {shown}. Asked for: {}.",
            self.bounds()
        )
    }
}
