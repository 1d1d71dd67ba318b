//! The functions of `device` for a build without a GPU backend.

use burn::tensor::{DType, Device, ExecutionError, FloatDType, Int, Tensor};
use tinyllama_kernel_catalog::{KernelDescriptor, StepSizes};

use crate::KernelError;
use crate::bench::{MeasuredRates, TimedPass};
use crate::check::OutputCheck;

/// Returns `None`, because no device runs kernels.
pub fn bench(
    _device: &Device,
    _sizes: &StepSizes,
    _repeats: usize,
) -> Option<Result<(MeasuredRates, Vec<TimedPass>), KernelError>> {
    None
}

/// Returns `None`, because no device runs kernels.
pub fn rates(_device: &Device, _repeats: usize) -> Option<Result<[Vec<f64>; 2], KernelError>> {
    None
}

/// Returns `None`, because no device runs kernels.
pub fn check(
    _kernel: &KernelDescriptor,
    _device: &Device,
    _dtype: FloatDType,
    _seed: u64,
) -> Option<Result<Vec<OutputCheck>, KernelError>> {
    None
}

/// Returns `false`, because the CPU rounds nothing.
pub fn rounds_to_tf32(_device: &Device) -> bool {
    false
}

/// A buffer on a GPU that the host rewrites in place; a build without GPUs has none.
#[derive(Clone, Debug)]
pub enum FixedBuffer {}

impl FixedBuffer {
    /// Returns `None`, because no device is a GPU.
    pub fn new(_device: &Device, _shape: &[usize], _dtype: DType) -> Option<FixedBuffer> {
        None
    }

    /// # Errors
    /// None.
    pub fn write(&self, _bytes: Vec<u8>) -> Result<(), ExecutionError> {
        match *self {}
    }

    pub fn integers<const D: usize>(&self) -> Tensor<D, Int> {
        match *self {}
    }
}
