//! What distinguishes one version of the model from another, as data.
//!
//! There is one model. A [`Recipe`] says how each of its operations is carried out, so the difference between two targets
//! can be printed instead of guessed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tinyllama_kernel_catalog::{KERNELS, Role};

use super::config::ModelConfig;

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
    /// This project's kernel: scores never leave the chip, key and value heads are not repeated. Earlier runs also had
    /// burn's kernels, called `library`; their recordings stay readable.
    #[serde(alias = "library")]
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

/// What the activation of the feed-forward network is computed by.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Swiglu {
    /// burn's tensor operations.
    #[default]
    Library,
    /// This project's kernel for the activation; the products before it are the library's.
    Kernel,
    /// One kernel for the activation and both products before it, one unit for every output.
    Naive,
}

/// How keys and values reach the attention kernel.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyValue {
    /// Read where the projection wrote them, each head once for all query heads that share it.
    #[default]
    Shared,
    /// Repeated for every query head and handed over as a transposed view.
    RepeatedTransposed,
}

/// What the parameters are before the first step.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Initialisation {
    /// Normal with mean 0 and deviation 0.02.
    #[default]
    Small,
    /// What layers of common frameworks do unasked: an embedding with deviation 1, uniform linear layers.
    Default,
}

/// Whether the custom kernels pass gradients on.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backward {
    #[default]
    Complete,
    /// The kernels have no backward pass: whatever lies before one of them gets no gradient.
    Missing,
}

/// What the host reads back from the device within a step.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostRead {
    #[default]
    None,
    /// Every gradient, for a norm that nobody looks at.
    Gradients,
}

/// In which type matrix products get their operands.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperandTypes {
    #[default]
    Asked,
    /// f32, whatever was asked for.
    Single,
}

fn usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How a target carries the model out. What older event streams do not say was the same for every target then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recipe {
    pub qkv: Projection,
    pub gate_up: Projection,
    pub attention: Attention,
    /// Norms, loss and optimizer.
    pub operations: Operations,
    #[serde(default)]
    pub swiglu: Swiglu,
    #[serde(default)]
    pub key_value: KeyValue,
    #[serde(default)]
    pub initialisation: Initialisation,
    #[serde(default)]
    pub backward: Backward,
    #[serde(default, skip_serializing_if = "usual")]
    pub host_read: HostRead,
    #[serde(default, skip_serializing_if = "usual")]
    pub operands: OperandTypes,
    /// Whether burn may fuse neighbouring operations into one kernel.
    pub graph_fusion: bool,
}

impl Recipe {
    /// Everything by the library, one after the other.
    pub const BASELINE: Recipe = Recipe {
        qkv: Projection::Separate,
        gate_up: Projection::Separate,
        attention: Attention::Materialised,
        operations: Operations::Library,
        swiglu: Swiglu::Library,
        key_value: KeyValue::Shared,
        initialisation: Initialisation::Small,
        backward: Backward::Complete,
        host_read: HostRead::None,
        operands: OperandTypes::Asked,
        graph_fusion: false,
    };

    /// Tensors that it stores the parameters of a model in.
    pub fn tensors(&self, config: &ModelConfig) -> usize {
        let per_block = 4 + self.qkv.matrices(3) + self.gate_up.matrices(2);
        2 + config.layers * per_block
    }

    /// This project's kernels that it launches, by the names their block sizes go by.
    pub fn kernels(&self) -> Vec<&'static str> {
        let launches = |role: Role| match role {
            Role::Attention => self.attention == Attention::Kernel,
            Role::Operations => self.operations == Operations::Kernels,
            // The naive kernel has its backward pass from the other one.
            Role::Activation => self.swiglu != Swiglu::Library,
            Role::NaiveActivation => self.swiglu == Swiglu::Naive,
            Role::None => false,
        };
        let kernels = KERNELS.iter().filter(|kernel| launches(kernel.role));
        kernels.map(|kernel| kernel.name).collect()
    }
}
