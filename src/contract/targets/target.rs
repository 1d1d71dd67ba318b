//! A target, and the data that its file has.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::engine_kind::EngineKind;
use crate::Synchronize;
use crate::model::Recipe;
use tinyllama_base::known_by_name;

/// A target that `run` can train.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub struct Target(pub(super) &'static TargetDescription);

/// The data of a target.
pub struct TargetDescription {
    pub name: &'static str,
    /// One line for lists. The lines of stages do not reveal the answer.
    pub summary: &'static str,
    pub kind: TargetKind,
    /// How the target carries out the model.
    pub recipe: Recipe,
    /// Work that its clock waits for by default.
    pub timing: Synchronize,
    pub engine: EngineKind,
}

impl TargetDescription {
    /// A target that the autodiff engine carries out through burn's tape.
    pub(super) const fn by_recipe(
        name: &'static str,
        summary: &'static str,
        kind: TargetKind,
        recipe: Recipe,
    ) -> Self {
        TargetDescription {
            name,
            summary,
            kind,
            recipe,
            timing: Synchronize::Phases,
            engine: EngineKind::Autodiff,
        }
    }

    /// The same target, but the host's clock alone times the parts of a step.
    pub(super) const fn timed_by_host(self) -> Self {
        TargetDescription {
            timing: Synchronize::HostParts,
            ..self
        }
    }
}

/// The purpose of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// All versions compute the same, and each is faster than the one before.
    Version,
    /// A stage of the debugging scenario. Each stage has one mistake less than the one before.
    Stage,
    /// A target with a separate mistake, which the learner finds by its symptom.
    Case,
}

impl Deref for Target {
    type Target = TargetDescription;

    fn deref(&self) -> &TargetDescription {
        self.0
    }
}

impl From<Target> for &'static str {
    fn from(target: Target) -> Self {
        target.name
    }
}

known_by_name!(Target);
