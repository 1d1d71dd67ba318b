//! The schedule's buffers as burn's tensors. A buffer's tensor exists from its first write on.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use burn::tensor::{Int, Tensor};

use crate::targets::v4::buffers::BufferHandle;

/// Tensors of one rank, by their handle in the schedule.
#[derive(Debug)]
pub struct Slots<T>(HashMap<BufferHandle, T>);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots(HashMap::new())
    }
}

impl<T: Clone> Slots<T> {
    /// Returns the tensor of `handle` and keeps it here.
    pub fn get(&self, handle: BufferHandle) -> Result<T> {
        self.0
            .get(&handle)
            .cloned()
            .with_context(|| unwritten_error(handle))
    }

    /// Takes the tensor of `handle` out, so that an operation is its only owner and may work in place.
    pub fn take(&mut self, handle: BufferHandle) -> Result<T> {
        self.0
            .remove(&handle)
            .with_context(|| unwritten_error(handle))
    }

    pub fn put(&mut self, handle: BufferHandle, tensor: T) {
        self.0.insert(handle, tensor);
    }
}

fn unwritten_error(handle: BufferHandle) -> String {
    format!("{handle:?} is read before anything was written to it")
}

/// All tensors of a step.
#[derive(Debug, Default)]
pub struct Tensors {
    pub matrices: Slots<Tensor<2>>,
    /// Weights of norms, their gradients, and the mean loss.
    pub vectors: Slots<Tensor<1>>,
    /// Log sums of attention: `[B, H, S]`.
    pub log_sums: Slots<Tensor<3>>,
    /// Tokens and targets.
    pub integers: Slots<Tensor<1, Int>>,
}

impl Tensors {
    /// Returns a handle's memory to the pool.
    pub fn release(&mut self, handle: BufferHandle) {
        self.matrices.0.remove(&handle);
        self.vectors.0.remove(&handle);
        self.log_sums.0.remove(&handle);
        self.integers.0.remove(&handle);
    }
}
