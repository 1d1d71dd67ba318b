//! A kernel with its code: buffers for launching it, and its check.

use cubecl::{ir::ElemType, prelude::Client, server::Handle};
use tinyllama_kernel_catalog::{KernelDescriptor, StepSizes};

use crate::KernelError;
use crate::check::OutputCheck;

/// A descriptor of the catalogue with its code: a constant of its folder, which [`CODE`](crate::CODE) lists.
#[derive(Clone, Copy, Debug)]
pub struct KernelCode {
    pub kernel: &'static KernelDescriptor,
    pub workload: Workload,
    pub check: CheckFunction,
}

/// Creates buffers for a model of these sizes, in an element type; `block` is the chosen block size.
pub type Workload =
    fn(&mut dyn BufferSource, &StepSizes, ElemType, block: Option<usize>) -> PassLauncher;

/// Launches the pass of this name on the buffers that were created for it.
pub type PassLauncher = Box<dyn Fn(&str) -> Result<(), KernelError>>;

/// Compares a kernel on a client, in an element type, with its reference on inputs drawn from a seed.
pub type CheckFunction = fn(&Client, ElemType, u64) -> Result<Vec<OutputCheck>, KernelError>;

/// The source of a workload's buffers: a device, with zeros or with values for a check, or only names.
pub trait BufferSource {
    fn client(&self) -> &Client;

    /// Creates a buffer of `elements` of `dtype`. Only a check depends on its content.
    fn buffer(
        &mut self,
        name: &str,
        elements: usize,
        dtype: ElemType,
        holds: BufferContent<'_>,
    ) -> Handle;

    /// Creates a buffer that kernels read.
    fn input(&mut self, name: &str, elements: usize, dtype: ElemType) -> Handle {
        self.buffer(name, elements, dtype, BufferContent::Around(0.0))
    }

    /// Creates a buffer that kernels write.
    fn output(&mut self, name: &str, elements: usize, dtype: ElemType) -> Handle {
        self.buffer(name, elements, dtype, BufferContent::Output)
    }
}

/// Content of a buffer in a check.
#[derive(Clone, Copy, Debug)]
pub enum BufferContent<'a> {
    /// Random values around a number.
    Around(f64),
    /// Random whole numbers below a bound.
    Below(usize),
    Given(&'a [f64]),
    Zeros,
    /// Nothing yet: a kernel writes it.
    Output,
}
