//! Everything that can be trained, by name.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recipe::{
    Attention, Backward, Initialisation, KeyValue, Operations, Projection, Recipe, Swiglu,
};

/// Something `run` can train: a named [`Recipe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Baseline.
    V1,
    /// Fused projections, flash attention, and neighbouring operations fused by burn.
    V2,
    /// This project's kernels, with the library's matrix products.
    V3,
    /// The whole step scheduled by hand.
    V4,
    /// The debugging scenario, each stage with one mistake less than the one before.
    Stage1,
    Stage2,
    Stage3,
    Stage4,
    /// Without mistakes: v3.
    Stage5,
    /// v3 without the backward pass of its kernels.
    Stage6,
}

/// What a target waits for before it reads the clock, unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// The device, after every phase of a step.
    Synchronised,
    /// The device once a step; its phases are not timed.
    WholeStep,
    /// The device once a step; its phases are read from the host's clock alone.
    HostParts,
}

impl Target {
    /// Every target, in the order of the course.
    pub const ALL: [Target; 10] = [
        Target::V1,
        Target::V2,
        Target::V3,
        Target::V4,
        Target::Stage1,
        Target::Stage2,
        Target::Stage3,
        Target::Stage4,
        Target::Stage5,
        Target::Stage6,
    ];

    /// The versions, which all compute the same.
    pub const VERSIONS: [Target; 4] = [Target::V1, Target::V2, Target::V3, Target::V4];

    /// The debugging scenario.
    pub const STAGES: [Target; 6] = [
        Target::Stage1,
        Target::Stage2,
        Target::Stage3,
        Target::Stage4,
        Target::Stage5,
        Target::Stage6,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Target::V1 => "v1",
            Target::V2 => "v2",
            Target::V3 => "v3",
            Target::V4 => "v4",
            Target::Stage1 => "stage1",
            Target::Stage2 => "stage2",
            Target::Stage3 => "stage3",
            Target::Stage4 => "stage4",
            Target::Stage5 => "stage5",
            Target::Stage6 => "stage6",
        }
    }

    /// One line for lists and `--help`. Those of the stages do not give the answer away.
    pub fn summary(self) -> &'static str {
        match self {
            Target::V1 => "baseline: separate projections, materialised attention, no fusion",
            Target::V2 => {
                "fused: one QKV and one gate-up product, flash attention, neighbouring operations fused by burn"
            }
            Target::V3 => {
                "kernels: own norm, attention, activation, loss and optimizer, library products"
            }
            Target::V4 => {
                "ultra: no tape, the whole step scheduled by hand, the vendor's products, replayed as a graph"
            }
            Target::Stage1 => "debugging scenario: the loss is not what it should be",
            Target::Stage2 => "debugging scenario: the loss is right, the time is not",
            Target::Stage3 => "debugging scenario: faster, but the parts of a step do not add up",
            Target::Stage4 => "debugging scenario: measured properly, and one kernel stands out",
            Target::Stage5 => "debugging scenario: solved",
            Target::Stage6 => {
                "debugging scenario, bonus: the fastest of all, and what is wrong with it"
            }
        }
    }

    /// How this target carries the model out.
    pub fn recipe(self) -> Recipe {
        let baseline = Recipe {
            qkv: Projection::Separate,
            gate_up: Projection::Separate,
            attention: Attention::Materialised,
            operations: Operations::Library,
            swiglu: Swiglu::Library,
            key_value: KeyValue::Shared,
            initialisation: Initialisation::Small,
            backward: Backward::Complete,
            graph_fusion: false,
        };
        let fused = Recipe {
            qkv: Projection::Fused,
            gate_up: Projection::Fused,
            attention: Attention::Kernel,
            graph_fusion: true,
            ..baseline
        };
        let kernels = Recipe {
            operations: Operations::Kernels,
            swiglu: Swiglu::Kernel,
            ..fused
        };
        // The stages are read backwards: each adds one mistake to the one after it.
        let naive = Recipe {
            swiglu: Swiglu::Naive,
            gate_up: Projection::Separate,
            ..kernels
        };
        let strided = Recipe {
            key_value: KeyValue::RepeatedTransposed,
            ..naive
        };
        match self {
            Target::V1 => baseline,
            Target::V2 => fused,
            Target::V3 | Target::V4 | Target::Stage5 => kernels,
            Target::Stage1 => Recipe {
                initialisation: Initialisation::Default,
                ..strided
            },
            Target::Stage2 => strided,
            Target::Stage3 | Target::Stage4 => naive,
            Target::Stage6 => Recipe {
                backward: Backward::Missing,
                ..kernels
            },
        }
    }

    /// What this target's clock waits for.
    pub fn timing(self) -> Timing {
        match self {
            Target::Stage1 | Target::Stage2 | Target::Stage3 => Timing::HostParts,
            // A graph is one piece: waiting inside it would mean doing without.
            Target::V4 => Timing::WholeStep,
            _ => Timing::Synchronised,
        }
    }

    /// The number of a stage of the debugging scenario.
    pub fn stage(self) -> Option<usize> {
        Target::STAGES
            .iter()
            .position(|stage| *stage == self)
            .map(|index| index + 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings in which two stages differ. The store of gate and up follows from the activation's kernel.
    fn differences(a: Target, b: Target) -> Vec<&'static str> {
        let (x, y) = (a.recipe(), b.recipe());
        [
            ("initialisation", x.initialisation != y.initialisation),
            ("key_value", x.key_value != y.key_value),
            ("timing", a.timing() != b.timing()),
            ("swiglu", x.swiglu != y.swiglu),
            ("backward", x.backward != y.backward),
            ("attention", x.attention != y.attention),
            ("operations", x.operations != y.operations),
            ("qkv", x.qkv != y.qkv),
            ("graph_fusion", x.graph_fusion != y.graph_fusion),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
    }

    #[test]
    fn every_stage_differs_from_the_next_in_one_thing() {
        let changed: Vec<Vec<&str>> = Target::STAGES
            .windows(2)
            .map(|pair| differences(pair[0], pair[1]))
            .collect();
        assert_eq!(
            changed,
            [
                ["initialisation"],
                ["key_value"],
                ["timing"],
                ["swiglu"],
                ["backward"]
            ]
        );
        assert_eq!(Target::Stage5.recipe(), Target::V3.recipe());
    }

    #[test]
    fn names_read_back() {
        for target in Target::ALL {
            assert_eq!(target.name().parse(), Ok(target));
        }
        assert_eq!("STAGE3".parse(), Ok(Target::Stage3));
        assert!("v9".parse::<Target>().unwrap_err().contains("stage6"));
    }
}
