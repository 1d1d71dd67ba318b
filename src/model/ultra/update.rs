//! What an AdamW update multiplies with.

use super::executor::Hyperparameters;

/// Worked out in f64, where `1 - b2` and the bias corrections keep their digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    pub keep_first: f32,
    pub add_first: f32,
    pub keep_second: f32,
    pub add_second: f32,
    /// `lr / (1 - b1^t)`.
    pub rate: f32,
    /// `1 / (1 - b2^t)`.
    pub correction: f32,
    /// `lr wd`.
    pub decay: f32,
    pub epsilon: f32,
}

impl Factors {
    /// The factors of update `step`, counted from 1; 0 is taken as 1.
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
}
