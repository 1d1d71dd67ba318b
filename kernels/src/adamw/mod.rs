//! AdamW: one step of the optimizer for all parameters at once, in place.
//!
//! With gradient `g` and step number `t` (Loshchilov and Hutter 2019, decoupled weight decay):
//! `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`,
//! `p = p - lr wd p - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)`.
//!
//! Bytes that must move, in f32: read p, g, m, v and write p, m, v, 28 an element, for 15 operations: nothing but
//! memory traffic. A launch for each of 74 parameters spends most of its time starting; here the buffers of all of them are
//! arguments of one launch (multi-tensor), and a cube finds its tensor by its number, among bounds known when the kernel is
//! compiled. The moments of all parameters lie in two buffers, so a tensor costs two bindings.
//!
//! Parameters and moments are f32 (master weights). Gradients may be 16-bit, and a parameter may name a 16-bit copy that
//! the same pass refreshes, which saves reading it again for a cast.

mod check;
mod kernel;
mod launch;
mod plan;
mod reference;

pub use check::check;
pub use kernel::{Segment, StepFactors, adamw_step};
pub use launch::{AdamwBlock, Dtypes, FactorSource, Parameter, State, step};
pub use reference::reference;

use cubecl::ir::{ElemType, FloatKind};

use crate::Cost;

const KERNEL: &str = "adamw";
const F32: ElemType = ElemType::Float(FloatKind::F32);

/// Elements that a tensor's moments are padded to, so that those of the next one are aligned to 16 bytes.
const STATE_ALIGNMENT: usize = 4;

/// Values in [`Factors`].
const FACTORS: usize = 8;

/// What the user of an optimizer chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hyperparameters {
    pub learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub weight_decay: f64,
}

/// What a step multiplies with: worked out on the host in f64, where `1 - b2` and the bias corrections keep their digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    keep_first: f32,
    add_first: f32,
    keep_second: f32,
    add_second: f32,
    /// `lr / (1 - b1^t)`.
    rate: f32,
    /// `1 / (1 - b2^t)`.
    correction: f32,
    /// `lr wd`.
    decay: f32,
    epsilon: f32,
}

impl Factors {
    /// The factors of step `step`, counted from 1; 0 is taken as 1.
    pub fn new(hyper: &Hyperparameters, step: u64) -> Factors {
        let step = step.max(1) as f64;
        Factors {
            keep_first: hyper.beta1 as f32,
            add_first: (1.0 - hyper.beta1) as f32,
            keep_second: hyper.beta2 as f32,
            add_second: (1.0 - hyper.beta2) as f32,
            rate: (hyper.learning_rate / (1.0 - hyper.beta1.powf(step))) as f32,
            correction: (1.0 / (1.0 - hyper.beta2.powf(step))) as f32,
            decay: (hyper.learning_rate * hyper.weight_decay) as f32,
            epsilon: hyper.epsilon as f32,
        }
    }

    /// Stands in where the kernel reads its factors from a buffer.
    const UNUSED: Factors = Factors {
        keep_first: 0.0,
        add_first: 0.0,
        keep_second: 0.0,
        add_second: 0.0,
        rate: 0.0,
        correction: 0.0,
        decay: 0.0,
        epsilon: 0.0,
    };

    /// The factors as a kernel reads them from a buffer.
    pub fn to_array(&self) -> [f32; FACTORS] {
        [
            self.keep_first,
            self.add_first,
            self.keep_second,
            self.add_second,
            self.rate,
            self.correction,
            self.decay,
            self.epsilon,
        ]
    }
}

/// Elements of each moment buffer for parameters of these lengths.
pub fn state_elements(lengths: impl IntoIterator<Item = usize>) -> usize {
    lengths
        .into_iter()
        .map(|length| length.next_multiple_of(STATE_ALIGNMENT))
        .sum()
}

/// What a step over `elements` parameters must move and compute, of which `copied` have a copy.
pub fn cost(elements: usize, copied: usize, dtypes: Dtypes) -> Cost {
    let (elements, copied) = (elements as u64, copied as u64);
    Cost {
        bytes_read: elements * (3 * F32.size() + dtypes.gradient.size()) as u64,
        bytes_written: elements * (3 * F32.size()) as u64 + copied * dtypes.copy.size() as u64,
        flops: 15 * elements,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_padded_to_whole_vectors() {
        assert_eq!(state_elements([1, 4, 5]), 4 + 4 + 8);
        assert_eq!(state_elements([]), 0);
    }

    #[test]
    fn cost_is_what_the_module_says() {
        let dtypes = Dtypes {
            gradient: F32,
            copy: ElemType::Float(FloatKind::BF16),
        };
        assert_eq!(cost(10, 0, dtypes).bytes(), 280);
        assert_eq!(cost(10, 10, dtypes).bytes(), 300);
    }
}
