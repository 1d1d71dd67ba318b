//! The differences between versions of the model, as data.
//!
//! There is only one model. A [`Recipe`] says how each of its operations is carried out, so the program can print the
//! difference between two targets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tinyllama_kernel_catalog::{KERNELS, Role};

use super::config::ModelConfig;

/// How the query, key and value projections (or gate and up) are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Projection {
    /// One matrix product for each projection.
    Separate,
    /// One matrix product over the concatenated weights.
    Fused,
}

impl Projection {
    /// Number of matrices that store `parts` projections.
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
    /// The scores are written to memory: S x S for every head.
    Materialised,
    /// This project's kernel: scores never leave the chip, and key and value heads are not repeated. Earlier versions
    /// also had burn's kernels under the name `library`. Their recordings remain readable.
    #[serde(alias = "library")]
    Kernel,
}

/// The implementation of all operations except matrix products and attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operations {
    /// burn's tensor operations, one after the other.
    Library,
    /// This project's kernels: norm, activation, loss and optimizer take one or two launches each.
    Kernels,
}

/// The implementation of the feed-forward network's activation.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Swiglu {
    /// burn's tensor operations.
    #[default]
    Library,
    /// This project's kernel for the activation. The library computes the products before it.
    Kernel,
    /// One kernel for the activation and both products before it, with one unit per output.
    Naive,
}

/// How keys and values reach the attention kernel.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyValue {
    /// The kernel reads them where the projection wrote them. Query heads share each key and value head.
    #[default]
    Shared,
    /// They are repeated for every query head and passed as a transposed view.
    RepeatedTransposed,
}

/// The parameters' values before the first step.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Initialisation {
    /// Normal distribution with mean 0 and standard deviation 0.02.
    #[default]
    Small,
    /// The default of common frameworks: an embedding with standard deviation 1, and uniform linear layers.
    Default,
}

/// The backward pass of the custom kernels.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backward {
    #[default]
    Complete,
    /// The kernels have no backward pass, so all parameters before them get no gradient.
    Missing,
}

/// What a step does besides training. Earlier versions knew only reads by the host.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SideWork {
    #[default]
    None,
    /// The host reads every gradient, for a norm that nothing uses.
    #[serde(alias = "gradients")]
    ReadGradients,
    /// The gradients of past steps stay on the device.
    KeepGradients,
    /// The loss is computed once more, after the clock was read.
    Evaluate,
}

/// The type of the operands of matrix products.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperandTypes {
    #[default]
    Asked,
    /// Always f32, regardless of the flags.
    Single,
}

fn usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How a target carries out the model. Fields that older event streams lack had the same value for every target then.
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
    #[serde(default, alias = "host_read", skip_serializing_if = "usual")]
    pub side_work: SideWork,
    #[serde(default, skip_serializing_if = "usual")]
    pub operands: OperandTypes,
    /// True if burn may fuse neighbouring operations into one kernel.
    pub graph_fusion: bool,
}

impl Recipe {
    /// The library carries out every operation separately.
    pub const BASELINE: Recipe = Recipe {
        qkv: Projection::Separate,
        gate_up: Projection::Separate,
        attention: Attention::Materialised,
        operations: Operations::Library,
        swiglu: Swiglu::Library,
        key_value: KeyValue::Shared,
        initialisation: Initialisation::Small,
        backward: Backward::Complete,
        side_work: SideWork::None,
        operands: OperandTypes::Asked,
        graph_fusion: false,
    };

    /// Number of tensors that store a model's parameters.
    pub fn tensors(&self, config: &ModelConfig) -> usize {
        let per_block = 4 + self.qkv.matrices(3) + self.gate_up.matrices(2);
        2 + config.layers * per_block
    }

    /// This project's kernels that the recipe launches, by the names used for block sizes.
    pub fn kernels(&self) -> Vec<&'static str> {
        let launches = |role: Role| match role {
            Role::Attention => self.attention == Attention::Kernel,
            Role::Operations => self.operations == Operations::Kernels,
            // The naive kernel uses the other kernel's backward pass.
            Role::Activation => self.swiglu != Swiglu::Library,
            Role::NaiveActivation => self.swiglu == Swiglu::Naive,
            // It is no part of a recipe: every model through burn has products, and their sizes decide on its blocks.
            Role::Product => false,
        };
        let kernels = KERNELS.iter().filter(|kernel| launches(kernel.role));
        kernels.map(|kernel| kernel.name).collect()
    }
}
