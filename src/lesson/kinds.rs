//! The kinds of steps: their names, and which keys go with which.

use super::course::StepKind;
use super::document::{Kind, Level, StepDocument};

/// The keys a kind of step needs and those it may have besides the ones every step has.
pub(super) struct Keys {
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
}

/// Keys of every step.
pub(super) const COMMON: [&str; 5] = ["id", "kind", "title", "text", "hints"];

impl Kind {
    pub const ALL: [Kind; 8] = [
        Kind::Read,
        Kind::Predict,
        Kind::Run,
        Kind::Compare,
        Kind::Profile,
        Kind::Quiz,
        Kind::Kernel,
        Kind::Reflect,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Predict => "predict",
            Kind::Run => "run",
            Kind::Compare => "compare",
            Kind::Profile => "profile",
            Kind::Quiz => "quiz",
            Kind::Kernel => "kernel",
            Kind::Reflect => "reflect",
        }
    }

    pub(super) fn keys(self) -> Keys {
        let (required, optional): (&[&str], &[&str]) = match self {
            Kind::Read => (&[], &[]),
            Kind::Predict => (&["measure", "golden"], &[]),
            Kind::Run => (
                &["target"],
                &["flags", "editable", "recording", "checks", "golden"],
            ),
            Kind::Compare => (&["runs", "metrics"], &["checks"]),
            Kind::Profile => (&["tool", "target", "golden"], &["flags", "checks"]),
            Kind::Quiz => (&[], &["choices", "number"]),
            Kind::Kernel => (&["file", "golden"], &["checks"]),
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
            StepKind::Compare { .. } => Kind::Compare,
            StepKind::Profile { .. } => Kind::Profile,
            StepKind::Quiz(_) => Kind::Quiz,
            StepKind::Kernel { .. } => Kind::Kernel,
            StepKind::Reflect => Kind::Reflect,
        }
    }
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Beginner => "beginner",
            Level::Intermediate => "intermediate",
            Level::Advanced => "advanced",
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
            ("recording", self.recording.is_some()),
            ("runs", self.runs.is_some()),
            ("metrics", self.metrics.is_some()),
            ("tool", self.tool.is_some()),
            ("choices", self.choices.is_some()),
            ("number", self.number.is_some()),
            ("file", self.file.is_some()),
            ("checks", !self.checks.is_empty()),
            ("golden", self.golden.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, present)| present.then_some(key))
        .collect()
    }
}
