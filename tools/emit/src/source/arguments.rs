//! The parts of a recorded launch.

/// One launch: its source, its size and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLaunch {
    /// The kernel's name in `tinyllama-kernels`, such as `rmsnorm_forward`.
    pub kernel: String,
    /// The `extern "C"` function in `source`.
    pub entry: String,
    /// HIP or CUDA C++ as one complete text.
    pub source: String,
    /// Blocks of the grid in x, y and z.
    pub cube_count: [u32; 3],
    /// Threads per block in x, y and z.
    pub cube_dim: [u32; 3],
    /// Bytes of dynamic shared memory (LDS) per block.
    pub shared_memory_bytes: usize,
    /// The arguments in order.
    pub arguments: Vec<SourceArgument>,
}

impl SourceLaunch {
    /// Returns the threads per block.
    pub fn threads(&self) -> u32 {
        self.cube_dim.iter().product()
    }
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceArgument {
    /// A pointer into device memory.
    Buffer {
        /// The name given to [`Offline::buffer`](super::Offline::buffer).
        name: String,
        /// Bytes from the buffer's start.
        offset: u64,
    },
    /// Scalars and lengths.
    Info { words: Vec<u64>, by: InfoPassing },
}

/// How a kernel gets its scalars and lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfoPassing {
    /// As a pointer to the words in device memory.
    Pointer,
    /// As the words themselves.
    Value,
}
