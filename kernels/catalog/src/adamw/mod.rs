//! AdamW: one step of the optimizer for all parameters at once, in place.
//!
//! With gradient `g` and step number `t` (Loshchilov and Hutter 2019, decoupled weight decay): `m = b1 m + (1 - b1) g`,
//! `v = b2 v + (1 - b2) g^2`, `p = p - lr wd p - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)`.
//!
//! In f32 a step reads p, g, m, v and writes p, m, v: 28 bytes per element for 15 operations, so memory traffic
//! decides. With one launch for each of 74 parameters, most of the time goes into starting. Here one launch has the
//! buffers of all parameters as arguments (multi-tensor). A cube finds its tensor by its number, among bounds known
//! when the kernel is compiled. The moments of all parameters lie in two buffers, so a tensor costs two bindings.
//!
//! Parameters and moments are f32 (master weights). Gradients may be 16-bit. A parameter may have a 16-bit copy, which
//! the same pass refreshes. This saves another read for a cast.

mod reference;

pub use reference::reference;

use crate::kernel::{KernelDescriptor, ResourceBudget, Role, StepSizes, UNITS_PER_CUBE};

/// Elements to whose multiples a tensor's moments are padded, so that the next tensor's are aligned to 16 bytes.
pub const STATE_ALIGNMENT: usize = 4;

pub const KERNEL: KernelDescriptor = KernelDescriptor {
    name: "adamw",
    summary: "updates every parameter in place with one launch",
    launches: "1",
    role: Role::Operations,
    shape: "parameters, gradients of g bytes, copies of c bytes",
    passes: passes!(|sizes| { parameters = lengths(sizes).iter().sum::<usize>(), g = 4, c = 0 } =>
        ("update", runs: 1, reads: parameters * (12 + g), writes: parameters * (12 + c), flops: 15 * parameters),
    ),
    block_size: Some(UNITS_PER_CUBE),
    block: AdamwBlock::FIELDS,
    budgets: &[ResourceBudget::new("adamw_step", 64, 0)],
};

/// Returns the lengths of v3's parameters: the embedding; per layer norm, joint query-key-value, output, norm, joint
/// gate-up and down; the last norm.
pub fn lengths(sizes: &StepSizes) -> Vec<usize> {
    let StepSizes { hidden, ffn, .. } = *sizes;
    let qkv = hidden * (sizes.heads + 2 * sizes.key_heads) * sizes.head_dim();
    let layer = [
        hidden,
        qkv,
        hidden * hidden,
        hidden,
        2 * hidden * ffn,
        hidden * ffn,
    ];
    let mut lengths = vec![sizes.vocabulary * hidden];
    lengths.extend(layer.repeat(sizes.layers));
    lengths.push(hidden);
    lengths
}

block! {
    /// Block sizes of the kernel, known at compile time.
    AdamwBlock {
        units: "units of a cube (threads of a workgroup)",
        vectors_per_unit: "vectors each unit updates, one after the other",
        parameters_per_launch: "most parameters in one launch",
    }
}

/// Hyperparameters of the optimizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hyperparameters {
    pub learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub weight_decay: f64,
}

/// Number of values in [`Factors`].
pub const FACTORS: usize = 8;

/// Factors of a step, in the order of the kernel's arguments. The host computes them in f64, where `1 - b2` and the
/// bias corrections keep their digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors([f32; FACTORS]);

impl Factors {
    /// Computes the factors of step `step`, counted from 1; 0 is taken as 1.
    pub fn new(hyper: &Hyperparameters, step: u64) -> Factors {
        let step = step.max(1) as f64;
        let factors = [
            hyper.beta1,
            1.0 - hyper.beta1,
            hyper.beta2,
            1.0 - hyper.beta2,
            hyper.learning_rate / (1.0 - hyper.beta1.powf(step)),
            1.0 / (1.0 - hyper.beta2.powf(step)),
            hyper.learning_rate * hyper.weight_decay,
            hyper.epsilon,
        ];
        Factors(factors.map(|factor| factor as f32))
    }

    /// Returns the factors in their order.
    pub fn to_array(&self) -> [f32; FACTORS] {
        self.0
    }
}

/// Returns the elements of each moment buffer for parameters of these lengths.
pub fn state_elements(lengths: impl IntoIterator<Item = usize>) -> usize {
    lengths
        .into_iter()
        .map(|length| length.next_multiple_of(STATE_ALIGNMENT))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_padded_to_whole_vectors() {
        assert_eq!(state_elements([1, 4, 5]), 4 + 4 + 8);
        assert_eq!(state_elements([]), 0);
    }
}
