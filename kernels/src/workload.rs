//! A kernel with its code: buffers of a size to launch it on, and its check.

use cubecl::{ir::ElemType, prelude::Client, server::Handle};
use tinyllama_kernel_catalog::{Kernel, Sizes};

use crate::KernelError;
use crate::check::Check;

/// A descriptor of the catalogue with its code; a constant of its folder, entered in [`CODE`](crate::CODE).
#[derive(Clone, Copy, Debug)]
pub struct KernelCode {
    pub kernel: &'static Kernel,
    pub workload: Workload,
    pub check: CheckFunction,
}

/// Makes buffers for a model of these sizes, in an element type; `block` is what was chosen for it.
pub type Workload =
    fn(&mut dyn BufferSource, &Sizes, ElemType, block: Option<usize>) -> PassLauncher;

/// Launches the pass of this name on the buffers that were made for it.
pub type PassLauncher = Box<dyn Fn(&str) -> Result<(), KernelError>>;

/// Holds a kernel on a client, in an element type, against its reference on inputs drawn from a seed.
pub type CheckFunction = fn(&Client, ElemType, u64) -> Result<Vec<Check>, KernelError>;

/// Where the buffers of a workload come from: a device, with zeros or with values to be checked, or names alone.
pub trait BufferSource {
    fn client(&self) -> &Client;

    /// A buffer of `elements` of `dtype`. What is in it matters only to a check.
    fn buffer(
        &mut self,
        name: &str,
        elements: usize,
        dtype: ElemType,
        holds: Content<'_>,
    ) -> Handle;

    /// A buffer that kernels read.
    fn input(&mut self, name: &str, elements: usize, dtype: ElemType) -> Handle {
        self.buffer(name, elements, dtype, Content::Around(0.0))
    }

    /// A buffer that kernels write.
    fn output(&mut self, name: &str, elements: usize, dtype: ElemType) -> Handle {
        self.buffer(name, elements, dtype, Content::Output)
    }
}

/// What a check finds in a buffer.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Random values around a number.
    Around(f64),
    /// Random whole numbers below a bound.
    Below(usize),
    Given(&'a [f64]),
    Zeros,
    /// What a kernel wrote.
    Output,
}
