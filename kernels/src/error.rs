//! Errors of a launch before anything reaches the device.

/// A refused launch. No buffer was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// A buffer is smaller than the shape says.
    #[error(
        "{kernel}: buffer `{buffer}` holds {actual} bytes, the shape needs {needed}; pass the shape the buffer was allocated for"
    )]
    BufferTooSmall {
        kernel: &'static str,
        buffer: &'static str,
        needed: u64,
        actual: u64,
    },
    /// The shape is invalid for this operation.
    #[error("{0}: {1}")]
    Shape(&'static str, String),
    /// Block sizes that the kernel or the device cannot run.
    #[error("{0}: block size refused: {1}")]
    Block(&'static str, String),
    /// An element type for which the kernel has no code.
    #[error("{0}: element type {1} is not supported; use f32, f16 or bf16")]
    ElementType(&'static str, String),
    /// The device failed while a check read its results back.
    #[error("{0}: reading the result back failed: {1}")]
    Device(&'static str, String),
}
