//! The kinds of steps: their names, and which keys go with which.

use super::course::StepKind;
use super::document::{Kind, StepDocument};

/// The keys a kind of step needs and those it may have besides the ones every step has.
pub(super) struct Keys {
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
}

/// Keys of every step.
pub(super) const COMMON: [&str; 6] = ["id", "kind", "title", "text", "optional", "hints"];

impl Kind {
    pub(super) fn keys(self) -> Keys {
        let (required, optional): (&[&str], &[&str]) = match self {
            Kind::Read => (&[], &[]),
            Kind::Predict => (&["measure", "golden"], &[]),
            Kind::Run => (
                &["target"],
                &[
                    "flags",
                    "editable",
                    "contest",
                    "against",
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
            Kind::Profile => (&["tool", "target", "golden"], &["flags", "checks"]),
            Kind::Quiz => (&[], &["choices", "number", "of"]),
            Kind::Kernel => (&["exercise"], &[]),
            Kind::Reflect => (&["golden"], &[]),
        };
        Keys { required, optional }
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
    pub(super) fn present(&self) -> Vec<&'static str> {
        [
            ("measure", self.measure.is_some()),
            ("target", self.target.is_some()),
            ("flags", self.flags.is_some()),
            ("editable", self.editable.is_some()),
            ("contest", self.contest.is_some()),
            ("against", self.against.is_some()),
            ("command", self.command.is_some()),
            ("suspects", self.suspects.is_some()),
            ("measurements", self.measurements.is_some()),
            ("of", self.of.is_some()),
            ("recording", self.recording.is_some()),
            ("runs", self.runs.is_some()),
            ("metrics", self.metrics.is_some()),
            ("tool", self.tool.is_some()),
            ("choices", self.choices.is_some()),
            ("number", self.number.is_some()),
            ("exercise", self.exercise.is_some()),
            ("checks", !self.checks.is_empty()),
            ("golden", self.golden.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, present)| present.then_some(key))
        .collect()
    }
}
