//! Everything that can be trained: a file each, and a line in [`ALL`].
//!
//! A target is a name, a summary, a [`Recipe`], and the kind of engine that carries it out. The command line, the course,
//! the training loop and every comparison ask here; what only one target has is in its own file.

pub mod case1;
pub mod case2;
pub mod engine_kind;
pub mod fixes;
pub mod stage1;
pub mod stage2;
pub mod stage3;
pub mod stage4;
pub mod stage5;
pub mod stage6;
pub mod v1;
pub mod v2;
pub mod v3;
pub mod v4;

use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Synchronize;
use crate::model::Recipe;
use crate::targets::engine_kind::EngineKind;
use tinyllama_base::known_by_name;

/// Every target, in the order of the course.
pub const ALL: &[Target] = &[
    v1::TARGET,
    v2::TARGET,
    v3::TARGET,
    v4::TARGET,
    stage1::TARGET,
    stage2::TARGET,
    stage3::TARGET,
    stage4::TARGET,
    stage5::TARGET,
    stage6::TARGET,
    case1::TARGET,
    case2::TARGET,
];

/// Something `run` can train.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub struct Target(&'static Description);

/// What a target is.
pub struct Description {
    pub name: &'static str,
    /// One line for lists. Those of the stages do not give the answer away.
    pub summary: &'static str,
    pub kind: Kind,
    /// How it carries the model out.
    pub recipe: Recipe,
    /// What its clock waits for unless told otherwise.
    pub timing: Synchronize,
    pub engine: EngineKind,
}

impl Description {
    /// Carried out through burn's tape, by its recipe.
    const fn by_recipe(
        name: &'static str,
        summary: &'static str,
        kind: Kind,
        recipe: Recipe,
    ) -> Self {
        Description {
            name,
            summary,
            kind,
            recipe,
            timing: Synchronize::Phases,
            engine: EngineKind::Autodiff,
        }
    }

    /// The same, with parts of the step by the host's clock alone.
    const fn timed_by_host(self) -> Self {
        Description {
            timing: Synchronize::HostParts,
            ..self
        }
    }
}

/// What a target is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All of them compute the same, each faster than the one before.
    Version,
    /// Of the debugging scenario, each with one mistake less than the one before.
    Stage,
    /// A mistake of its own, to be found by its symptom.
    Case,
}

impl Target {
    /// The versions, which all compute the same.
    pub fn versions() -> impl Iterator<Item = Target> {
        Target::of(Kind::Version)
    }

    /// The debugging scenario.
    pub fn stages() -> impl Iterator<Item = Target> {
        Target::of(Kind::Stage)
    }

    fn of(kind: Kind) -> impl Iterator<Item = Target> {
        ALL.iter()
            .copied()
            .filter(move |target| target.kind == kind)
    }

    /// This project's kernels that it launches with `recipe`, by the names their block sizes go by.
    pub fn kernels(self, recipe: &Recipe) -> Vec<&'static str> {
        match self.engine.takes_block_sizes() {
            true => recipe.kernels(),
            false => vec![],
        }
    }
}

/// Targets that train with this kernel of the project's.
pub fn launching(kernel: &str) -> Vec<Target> {
    let launches = |target: &Target| target.kernels(&target.recipe).contains(&kernel);
    ALL.iter().copied().filter(launches).collect()
}

pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|target| target.name)
}

/// `what`, and from which to which: `v1 to v4, stage1 to stage6`.
pub fn help(what: &str) -> String {
    let range = |targets: Vec<Target>| match targets.as_slice() {
        [first, .., last] => format!("{first} to {last}"),
        few => few.iter().map(Target::to_string).collect(),
    };
    let versions = range(Target::versions().collect());
    let stages = range(Target::stages().collect());
    format!("{what}: {versions}, {stages}")
}

/// The same, and each with its line.
pub fn list(what: &str) -> String {
    let mut text = help(what);
    for target in ALL {
        text += &format!("\n- {target}: {}", target.summary);
    }
    text
}

impl Deref for Target {
    type Target = Description;

    fn deref(&self) -> &Description {
        self.0
    }
}

known_by_name!(Target);

impl From<Target> for &'static str {
    fn from(target: Target) -> Self {
        target.name
    }
}

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        ALL.iter()
            .copied()
            .find(|target| target.name.eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                let names: Vec<&str> = names().collect();
                format!(
                    "there is no target `{text}`; there are: {}",
                    names.join(", ")
                )
            })
    }
}
