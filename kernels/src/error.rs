//! What can be wrong with a launch before anything reaches the device.

/// A launch that was refused. Nothing was written to any buffer.
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
    /// The shape itself makes no sense for this operation.
    #[error("{kernel}: {reason}")]
    Shape {
        kernel: &'static str,
        reason: String,
    },
    /// Block sizes that the kernel or the device cannot run.
    #[error("{kernel}: block size refused: {reason}")]
    Block {
        kernel: &'static str,
        reason: String,
    },
    /// A choice of block size that names no kernel, or a size its kernel cannot have.
    #[error("{reason}")]
    Tunable { reason: String },
    /// An element type the kernel has no code for.
    #[error("{kernel}: element type {dtype} is not supported; use f32, f16 or bf16")]
    ElementType { kernel: &'static str, dtype: String },
    /// The device failed while a check read its results back.
    #[error("{kernel}: reading the result back failed: {reason}")]
    Device {
        kernel: &'static str,
        reason: String,
    },
}
