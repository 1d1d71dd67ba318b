//! All targets that `run` can train. Each has its own file and a line in [`ALL`].
//!
//! A target has a name, a summary, a [`Recipe`], and the engine that carries it out. The command line, the course,
//! the training loop and every comparison use this list. Properties of a single target are in its file.

pub mod case1;
pub mod case2;
pub mod case3;
pub mod case4;
pub mod engine_kind;
pub mod fixes;
pub mod stage1;
pub mod stage2;
pub mod stage3;
pub mod stage4;
pub mod stage5;
pub mod stage6;
mod target;
pub mod v1;
pub mod v2;
pub mod v3;
pub mod v4;

use std::str::FromStr;

use crate::model::Recipe;
pub use target::{Target, TargetDescription, TargetKind};

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
    case3::TARGET,
    case4::TARGET,
];

impl Target {
    /// The versions, which all compute the same.
    pub fn versions() -> impl Iterator<Item = Target> {
        Target::with_kind(TargetKind::Version)
    }

    /// The stages of the debugging scenario.
    pub fn stages() -> impl Iterator<Item = Target> {
        Target::with_kind(TargetKind::Stage)
    }

    fn with_kind(kind: TargetKind) -> impl Iterator<Item = Target> {
        ALL.iter()
            .copied()
            .filter(move |target| target.kind == kind)
    }

    /// This project's kernels that the target launches with `recipe`, by the names used for block sizes.
    pub fn kernels(self, recipe: &Recipe) -> Vec<&'static str> {
        match self.engine.takes_block_sizes() {
            true => recipe.kernels(),
            false => vec![],
        }
    }
}

/// Targets that launch this kernel of the project.
pub fn launching(kernel: &str) -> Vec<Target> {
    let launches = |target: &Target| target.kernels(&target.recipe).contains(&kernel);
    ALL.iter().copied().filter(launches).collect()
}

pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|target| target.name)
}

/// `what` with the ranges of targets: `v1 to v4, stage1 to stage6`.
pub fn help(what: &str) -> String {
    let range = |targets: Vec<Target>| match targets.as_slice() {
        [first, .., last] => format!("{first} to {last}"),
        few => few.iter().map(Target::to_string).collect(),
    };
    let versions = range(Target::versions().collect());
    let stages = range(Target::stages().collect());
    format!("{what}: {versions}, {stages}")
}

/// The same text, followed by one line for each target.
pub fn list(what: &str) -> String {
    let mut text = help(what);
    for target in ALL {
        text += &format!("\n- {target}: {}", target.summary);
    }
    text
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
