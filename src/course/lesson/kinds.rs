//! The kinds of steps: their names, and which keys go with which.

use serde_json::Value;

use super::document::Kind;
use crate::lesson::{StepDocument, StepKind};

/// Keys of every step.
pub(super) const COMMON: [&str; 6] = ["id", "kind", "title", "text", "optional", "hints"];

impl Kind {
    /// The keys a kind of step needs and those it may have besides the ones every step has.
    pub(super) fn keys(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Kind::Read => (&[], &[]),
            Kind::Predict => (&["measure", "golden"], &[]),
            Kind::Run => (
                &["target"],
                &[
                    "flags",
                    "editable",
                    "contest",
                    "recording",
                    "checks",
                    "golden",
                ],
            ),
            Kind::Command => (
                &["command"],
                &["flags", "editable", "recording", "checks", "golden"],
            ),
            Kind::Investigate => (
                &["target", "suspects", "measurements"],
                &["flags", "recording", "checks"],
            ),
            Kind::Compare => (&["runs", "metrics"], &["checks"]),
            Kind::Profile => (&["tool", "target", "golden"], &["task", "flags", "checks"]),
            Kind::Quiz => (&[], &["choices", "number", "of"]),
            Kind::Kernel => (&["exercise"], &[]),
            Kind::Reflect => (&["golden"], &[]),
        }
    }
}

impl StepKind {
    pub fn kind(&self) -> Kind {
        match self {
            StepKind::Read => Kind::Read,
            StepKind::Predict { .. } => Kind::Predict,
            StepKind::Run { .. } => Kind::Run,
            StepKind::Command { .. } => Kind::Command,
            StepKind::Investigate(_) => Kind::Investigate,
            StepKind::Compare { .. } => Kind::Compare,
            StepKind::Profile { .. } => Kind::Profile,
            StepKind::Quiz(_) => Kind::Quiz,
            StepKind::Kernel { .. } => Kind::Kernel,
            StepKind::Reflect => Kind::Reflect,
        }
    }
}

impl StepDocument {
    /// The keys written in the file, as far as they depend on the kind.
    pub(super) fn present(&self) -> Vec<String> {
        let written = serde_json::to_value(self).unwrap_or_default();
        let keys = written.as_object().into_iter().flatten();
        let is_there = |key: &str, value: &Value| match key {
            "checks" => !self.checks.is_empty(),
            key => !COMMON.contains(&key) && !value.is_null(),
        };
        keys.filter(|(key, value)| is_there(key, value))
            .map(|(key, _)| key.clone())
            .collect()
    }
}
