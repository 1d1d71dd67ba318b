//! What distinguishes one version of the model from another, as data.
//!
//! There is one model. A [`Recipe`] says how each of its operations is carried out, and a [`Target`] is a named recipe,
//! so the difference between two targets can be printed instead of guessed.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the query, key and value (or gate and up) projections are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Projection {
    /// One matrix product for each.
    Separate,
    /// One matrix product over the weights side by side.
    Fused,
}

impl Projection {
    /// Matrices that `parts` projections are stored in.
    pub fn matrices(self, parts: usize) -> usize {
        match self {
            Projection::Separate => parts,
            Projection::Fused => 1,
        }
    }
}

/// How attention is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Scores are written to memory, S x S of them for every head.
    Materialised,
    /// This project's kernel: scores never leave the chip, key and value heads are not repeated.
    Kernel,
}

/// What carries out everything that is neither a matrix product nor attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operations {
    /// burn's tensor operations, one after the other.
    Library,
    /// This project's kernels: norm, activation, loss and optimizer in one launch or two each.
    Kernels,
}

/// How a target carries the model out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recipe {
    pub qkv: Projection,
    pub gate_up: Projection,
    pub attention: Attention,
    pub operations: Operations,
    /// Whether burn may fuse neighbouring operations into one kernel.
    pub graph_fusion: bool,
}

/// Something `run` can train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Baseline.
    V1,
    /// Fused projections, and neighbouring operations fused by burn.
    V2,
    /// This project's kernels, with the library's matrix products.
    V3,
}

impl Target {
    /// Every target, in the order of the course.
    pub const ALL: [Target; 3] = [Target::V1, Target::V2, Target::V3];

    pub fn name(self) -> &'static str {
        match self {
            Target::V1 => "v1",
            Target::V2 => "v2",
            Target::V3 => "v3",
        }
    }

    /// One line for lists and `--help`.
    pub fn summary(self) -> &'static str {
        match self {
            Target::V1 => "baseline: separate projections, materialised attention, no fusion",
            Target::V2 => {
                "fused: one QKV and one gate-up product, neighbouring operations fused by burn"
            }
            Target::V3 => {
                "kernels: own norm, attention, activation, loss and optimizer, library products"
            }
        }
    }

    pub fn recipe(self) -> Recipe {
        let baseline = Recipe {
            qkv: Projection::Separate,
            gate_up: Projection::Separate,
            attention: Attention::Materialised,
            operations: Operations::Library,
            graph_fusion: false,
        };
        let fused = Recipe {
            qkv: Projection::Fused,
            gate_up: Projection::Fused,
            graph_fusion: true,
            ..baseline
        };
        match self {
            Target::V1 => baseline,
            Target::V2 => fused,
            Target::V3 => Recipe {
                attention: Attention::Kernel,
                operations: Operations::Kernels,
                ..fused
            },
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Target::ALL
            .into_iter()
            .find(|target| target.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                let names: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
                format!(
                    "there is no target `{text}`; there are: {}",
                    names.join(", ")
                )
            })
    }
}
