//! The schedule's buffers as burn's tensors: one for each buffer, from the moment it is written.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use burn::tensor::{Int, Tensor};

use crate::targets::v4::buffers::Handle;

/// Tensors of one rank, by what they are in the schedule.
#[derive(Debug)]
pub struct Slots<T>(HashMap<Handle, T>);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots(HashMap::new())
    }
}

impl<T: Clone> Slots<T> {
    /// The tensor of `handle`, still held here.
    pub fn get(&self, handle: Handle) -> Result<T> {
        self.0
            .get(&handle)
            .cloned()
            .with_context(|| unwritten(handle))
    }

    /// The tensor of `handle` with no other owner here, so that an operation may work in place.
    pub fn take(&mut self, handle: Handle) -> Result<T> {
        self.0.remove(&handle).with_context(|| unwritten(handle))
    }

    pub fn put(&mut self, handle: Handle, tensor: T) {
        self.0.insert(handle, tensor);
    }
}

fn unwritten(handle: Handle) -> String {
    format!("{handle:?} is read before anything was written to it")
}

/// Everything a step keeps.
#[derive(Debug, Default)]
pub struct Tensors {
    pub matrices: Slots<Tensor<2>>,
    /// Weights of norms and their gradients; the mean loss.
    pub vectors: Slots<Tensor<1>>,
    /// Of attention: `[B, H, S]`.
    pub log_sums: Slots<Tensor<3>>,
    /// Tokens and targets.
    pub integers: Slots<Tensor<1, Int>>,
}

impl Tensors {
    /// Gives a handle's memory back to the pool.
    pub fn release(&mut self, handle: Handle) {
        self.matrices.0.remove(&handle);
        self.vectors.0.remove(&handle);
        self.log_sums.0.remove(&handle);
        self.integers.0.remove(&handle);
    }

    /// Gives everything back but the parameters.
    pub fn keep_weights(&mut self) {
        let is_weight = |handle: &Handle| matches!(handle, Handle::Weight(_));
        self.matrices.0.retain(|handle, _| is_weight(handle));
        self.vectors.0.retain(|handle, _| is_weight(handle));
        self.log_sums.0.clear();
        self.integers.0.clear();
    }
}
